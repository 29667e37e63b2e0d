/** Exact traces of real programs: every load and store that valgrind saw, in columns. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { firstIndex } from "../../../../src/statistics/first-index.ts";
import { compileProgram } from "../../../fixtures/compile.ts";
import { readAccesses } from "../../../fixtures/valgrind-tool.ts";

export interface TracedRegion {
  readonly region_type: "weight" | "kv_cache" | "activation";
  readonly addr: number;
  readonly size_bytes: number;
}

/** A step of the program: its first access and the one after its last, and its cycles. */
export interface TracedStep {
  readonly step: "prefill" | "decode";
  readonly n_tokens: number;
  readonly begin_cycle: number;
  readonly end_cycle: number;
}

/** Accesses in their order, an entry for each in every array, from the first step to the end of the last. */
export interface AccessTrace {
  readonly address: Float64Array;
  /** Values of OP. */
  readonly op: Uint8Array;
  readonly bytes: Uint8Array;
  /** Accesses and instructions without one are numbered together from 0, in the order in which they retire. */
  readonly operation: Uint32Array;
  /** When it begins, from 0, on the machine of pack-accesses.c. */
  readonly cycle: Uint32Array;
  /** How many operations and cycles there are. */
  readonly operations: number;
  readonly cycles: number;
  /** In order of address, none over another. */
  readonly regions: readonly TracedRegion[];
  readonly steps: readonly TracedStep[];
}

/** Number of the first access that begins at a cycle or later. */
export function firstFrom({ cycle }: AccessTrace, at: number): number {
  return firstIndex(cycle.length, (i) => (cycle[i] ?? 0) < at);
}

/** Number of the region that holds an address; -1 for none. */
export function regionOf({ regions }: AccessTrace, address: number): number {
  const found = firstIndex(regions.length, (i) => (regions[i]?.addr ?? 0) <= address) - 1;
  const { addr = 0, size_bytes = 0 } = regions[found] ?? {};
  return address < addr + size_bytes ? found : -1;
}

/** Written last. */
const SAID = "said.txt";

export const isRecorded = (folder: string): boolean => existsSync(join(folder, SAID));

/**
 * Runs a program under valgrind and packs its accesses as they come, so that their text is never kept.
 * @param folder gets the columns
 * @throws Error where the program, valgrind or the packer fails
 */
export async function recordTrace(command: readonly string[], folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const packer = [compileProgram("pack-accesses"), folder];
  await Bun.write(join(folder, SAID), await readAccesses(command, "all accesses and instructions", packer));
}

/** Regions of one class that touch each other are one: activations take turns in one place. */
function merged(regions: readonly TracedRegion[]): TracedRegion[] {
  const out: TracedRegion[] = [];
  for (const region of [...regions].sort((a, b) => a.addr - b.addr)) {
    const last = out.at(-1);
    const end = last === undefined ? Number.NEGATIVE_INFINITY : last.addr + last.size_bytes;
    if (last === undefined || region.addr > end || (region.addr === end && region.region_type !== last.region_type)) {
      out.push(region);
      continue;
    }
    if (region.region_type !== last.region_type) throw new Error("regions of two classes overlap");
    const size_bytes = Math.max(end, region.addr + region.size_bytes) - last.addr;
    out[out.length - 1] = { ...last, size_bytes };
  }
  return out;
}

/** Reads what recordTrace left in a folder. */
export async function loadTrace(folder: string): Promise<AccessTrace> {
  const column = (name: string): Promise<ArrayBuffer> => Bun.file(join(folder, name)).arrayBuffer();
  const regions: TracedRegion[] = [];
  const steps: TracedStep[] = [];
  let end = { row: 0, operation: 0 };
  let open: Omit<TracedStep, "end_cycle"> | null = null;
  for (const line of (await Bun.file(join(folder, SAID)).text()).trim().split("\n")) {
    const [what, ...words] = line.split(" ");
    if (what === "range") {
      const [region_type, addr, bytes] = words;
      regions.push({
        region_type: region_type as TracedRegion["region_type"],
        addr: Number(`0x${addr}`),
        size_bytes: Number(bytes),
      });
    } else if (what === "step") {
      open = {
        step: words[0] as TracedStep["step"],
        n_tokens: Number(words[1]),
        begin_cycle: Number(words[4]),
      };
    } else if (what === "end" && open !== null) {
      steps.push({ ...open, end_cycle: Number(words[2]) });
      end = { row: Number(words[0]), operation: Number(words[1]) };
      open = null;
    }
  }
  const address = new Float64Array(await column("address.f64"));
  if (steps.length === 0 || address.length < end.row) throw new Error(`no whole trace in ${folder}`);
  return {
    address: address.subarray(0, end.row),
    op: new Uint8Array(await column("op.u8")).subarray(0, end.row),
    bytes: new Uint8Array(await column("bytes.u8")).subarray(0, end.row),
    operation: new Uint32Array(await column("operation.u32")).subarray(0, end.row),
    cycle: new Uint32Array(await column("cycle.u32")).subarray(0, end.row),
    operations: end.operation,
    cycles: steps.at(-1)?.end_cycle ?? 0,
    regions: merged(regions),
    steps,
  };
}

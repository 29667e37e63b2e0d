/** What is true of the whole of an exact trace, by the definitions of docs/metrics.md. */
import { GRAINS, PAGE_GRAINS } from "../../../../src/analyse/input/input.ts";
import { type Span, spansOf } from "../../../../src/analyse/input/span.ts";
import { OP } from "../../../../src/schema/operation.ts";
import type { Truth } from "../../../../src/simulate/true-quantiles.ts";
import { nameOf } from "../sources/source-world.ts";
import { type AccessTrace, firstFrom, regionOf, type TracedRegion } from "./access-trace.ts";
import { stepsOf } from "./traced-run.ts";

const LINE_BYTES = 64;

/** Write epochs of a block, and the time of its last store. */
interface Epochs {
  count: number;
  last_ns: number;
}

interface Counted {
  loads: number;
  stores: number;
  /** By position in GRAINS. */
  readonly blocks: readonly Set<number>[];
  /** By position in PAGE_GRAINS. */
  readonly epochs: readonly Map<number, Epochs>[];
}

const nothing = (): Counted => ({
  loads: 0,
  stores: 0,
  blocks: GRAINS.map(() => new Set()),
  epochs: PAGE_GRAINS.map(() => new Map()),
});

const isRead = (op: number | undefined): boolean => op === OP.load || op === OP.load_store;
const isWrite = (op: number | undefined): boolean => op === OP.store || op === OP.load_store;

function addBlocks(counts: Counted, address: number, bytes: number): void {
  for (let i = 0; i < GRAINS.length; i++) {
    const grain = GRAINS[i] as number;
    const last = Math.floor((address + bytes - 1) / grain);
    for (let block = Math.floor(address / grain); block <= last; block++) counts.blocks[i]?.add(block);
  }
}

function addStore(counts: Counted, address: number, bytes: number, time_ns: number, gapNs: number): void {
  for (let i = 0; i < PAGE_GRAINS.length; i++) {
    const grain = PAGE_GRAINS[i] as number;
    const last = Math.floor((address + bytes - 1) / grain);
    for (let block = Math.floor(address / grain); block <= last; block++) {
      const epochs = counts.epochs[i]?.get(block) ?? { count: 0, last_ns: Number.NEGATIVE_INFINITY };
      if (time_ns - epochs.last_ns >= gapNs) epochs.count += 1;
      epochs.last_ns = time_ns;
      counts.epochs[i]?.set(block, epochs);
    }
  }
}

/** Goes through the accesses of the pieces of a span. */
function count(trace: AccessTrace, span: Span, cycleNs: number, gapNs: number): Map<string, Counted> {
  const counted = new Map(trace.regions.map(({ region_type }) => [region_type as string, nothing()]));
  span.begin_ns.forEach((begin, piece) => {
    const end = firstFrom(trace, (span.end_ns[piece] ?? 0) / cycleNs);
    for (let row = firstFrom(trace, begin / cycleNs); row < end; row++) {
      const address = trace.address[row] ?? 0;
      const bytes = trace.bytes[row] ?? 0;
      const region = regionOf(trace, address);
      const counts = counted.get(trace.regions[region]?.region_type ?? "");
      if (counts === undefined) continue;
      if (isRead(trace.op[row])) counts.loads += 1;
      addBlocks(counts, address, bytes);
      if (!isWrite(trace.op[row])) continue;
      counts.stores += 1;
      if (span.step === "all") addStore(counts, address, bytes, (trace.cycle[row] ?? 0) * cycleNs, gapNs);
    }
  });
  return counted;
}

const bytesOf = (regions: readonly TracedRegion[]): number => regions.reduce((sum, one) => sum + one.size_bytes, 0);

/**
 * Every figure that samples are to tell, of the whole trace and of each of its steps.
 * @param cycleNs length of a cycle
 * @param gapNs stores closer than this are one write epoch
 */
export function exactFigures(trace: AccessTrace, cycleNs: number, gapNs: number): Map<string, Truth> {
  const truth = new Map<string, Truth>();
  for (const span of spansOf(stepsOf(trace, cycleNs), trace.cycles * cycleNs)) {
    for (const [region_type, { loads, stores, blocks, epochs }] of count(trace, span, cycleNs, gapNs)) {
      const regions = trace.regions.filter((one) => one.region_type === region_type);
      const put = (metric: string, value: number, grain_bytes: number | null = null): void => {
        const name = nameOf({ metric, region_type, grain_bytes, step: span.step } as Parameters<typeof nameOf>[0]);
        if (Number.isFinite(value)) truth.set(name, { lo: value, hi: value });
      };
      const seconds = span.window_ns / 1e9;
      put("loads_per_s", loads / seconds);
      put("stores_per_s", stores / seconds);
      put("loads_per_store", loads / stores);
      put("iai_mean_ns", (span.window_ns * (bytesOf(regions) / LINE_BYTES)) / (loads + stores), LINE_BYTES);
      for (const [g, grain] of GRAINS.entries()) put("working_set_bytes", (blocks[g]?.size ?? 0) * grain, grain);
      if (span.step !== "all") continue;
      for (const [g, grain] of PAGE_GRAINS.entries()) {
        const all = [...(epochs[g]?.values() ?? [])];
        put("write_once_ratio", all.filter(({ count: n }) => n === 1).length / all.length, grain);
      }
    }
  }
  return truth;
}

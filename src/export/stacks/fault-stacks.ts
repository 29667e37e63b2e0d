/** Page faults by the function that took them. */
import { type Capture, openCapture } from "../../label/capture/capture.ts";
import { mappingStays } from "../../label/capture/mapping-stays.ts";
import { rowsInOrder } from "../../label/capture/rows-in-order.ts";
import { scanColumns } from "../../label/capture/stream-columns.ts";
import { runWindow } from "../../label/timeline/origin.ts";
import { type CodeAddress, type CodeName, codeNamer } from "../../label/trace/code-places.ts";
import { FAULT } from "../../schema/shared-numbers.ts";
import type { Database } from "../../sql/database.ts";
import type { ExportTask } from "../export-format.ts";
import { codeFrame, KERNEL } from "./code-frame.ts";
import type { Stack } from "./stack.ts";

const WORD = 2 ** 32;
/** Instructions of the kernel lie above; no number of an instruction. */
const KERNEL_HALF = 2 ** 31;
const IN_KERNEL = -1;
/** Rows of mappings that are followed to name instructions: some 350 MB. */
const MOST_MAPPINGS = 4_000_000;

interface Taken {
  faults: number;
  major_faults: number;
  /** CLOCK_MONOTONIC of the first. */
  first_ns: bigint;
}

function none(times: Uint32Array, row: number): Taken {
  const first_ns = (BigInt(times[2 * row + 1] as number) << 32n) | BigInt(times[2 * row] as number);
  return { faults: 0, major_faults: 0, first_ns };
}

/** Faults by process and instruction. */
async function faultsByInstruction(capture: Capture): Promise<Map<number, Map<number, Taken>>> {
  const byPid = new Map<number, Map<number, Taken>>();
  await scanColumns(capture, "fault", ["timestamp_ns", "ip", "pid", "fault_flags"], (columns, rows) => {
    const [time, ip, pid, flags] = [columns.timestamp_ns, columns.ip, columns.pid, columns.fault_flags].map(
      ({ words }) => words,
    ) as [Uint32Array, Uint32Array, Uint32Array, Uint32Array];
    for (let row = 0; row < rows; row++) {
      const high = ip[2 * row + 1] as number;
      const place = high >= KERNEL_HALF ? IN_KERNEL : high * WORD + (ip[2 * row] as number);
      const byPlace = byPid.get(pid[row] as number) ?? new Map<number, Taken>();
      const taken = byPlace.get(place) ?? none(time, row);
      if (taken.faults + taken.major_faults === 0) byPid.set(pid[row] as number, byPlace.set(place, taken));
      // The second row of a major fault is no other fault.
      if (((flags[row] as number) & FAULT.major_done) !== 0) taken.major_faults += 1;
      else taken.faults += 1;
    }
  });
  return byPid;
}

/** Names instructions by the mappings of their process; nothing has a name where there are too many mappings. */
async function namer(database: Database, capture: Capture, task: ExportTask, originNs: bigint) {
  const mappings = capture.segments.mapping.reduce((sum, { rows }) => sum + rows, 0);
  if (mappings > MOST_MAPPINGS) {
    task.leaveOut(`names of functions that faulted: ${mappings} rows of mappings are more than are followed`);
    return (): CodeName => ({ dso: "", symbol: "" });
  }
  const { rows } = await rowsInOrder(database, capture, "mapping");
  const { code, facts } = mappingStays(rows(), originNs, new Set());
  return codeNamer(code, facts) as (address: CodeAddress) => CodeName;
}

/** One stack of one frame for each function of each process that took faults; none where faults were not recorded. */
export async function faultStacks(database: Database, task: ExportTask): Promise<Stack[]> {
  const capture = await openCapture(task.run.runDir);
  if (capture.segments.fault.length === 0) return [];
  const byPid = await faultsByInstruction(capture);
  await task.goOn(0, null);
  const { origin_ns } = await runWindow(database, capture);
  const nameOf = await namer(database, capture, task, origin_ns);
  await task.goOn(0, null);
  const stacks: Stack[] = [];
  for (const [pid, byPlace] of byPid) {
    for (const [place, { faults, major_faults, first_ns }] of byPlace) {
      const first = Number(first_ns - origin_ns);
      const frame = place === IN_KERNEL ? KERNEL : codeFrame(nameOf({ pid, ip: BigInt(place), first_ns: first }));
      stacks.push({ pid, frames: [frame], labels: {}, values: { faults, major_faults } });
    }
  }
  if (capture.skipped.some(({ stream }) => stream === "fault")) task.leaveOut("faults of segments that cannot be read");
  return stacks;
}

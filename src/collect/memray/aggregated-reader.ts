/** Reads an aggregated capture: sums for each stack, and memory over time; no lifetimes. */
import type { Batch } from "../../columnar/batch.ts";
import type { ClockPair } from "../../columnar/clock-pairs.ts";
import { collectAfter } from "../../columnar/collect-after.ts";
import { batchFromRows } from "../../columnar/rows.ts";
import type { RowOf } from "../../schema/row.ts";
import { MAX_NODES } from "./call-tree.ts";
import { type CaptureSummary, emptySites } from "./capture-summary.ts";
import { type AggregatedRecord, type AllocationSite, parseAggregated } from "./format/aggregated-records.ts";
import { ALLOCATORS, allocatorNumbering } from "./format/allocator.ts";
import type { CaptureFile } from "./format/capture-file.ts";
import { openFrameNames } from "./frame-names.ts";
import { openLifetimeRows } from "./lifetime-rows.ts";
import { openLifetimes } from "./lifetimes.ts";
import { openMemoryRows } from "./memory-rows.ts";
import { openNativeObjects } from "./native-objects.ts";
import { openStackRows } from "./stack-rows.ts";
import { openThreadNames } from "./thread-names.ts";
import { type Bracket, openTimeAxis } from "./time-axis.ts";
import { siteTotals } from "./total-rows.ts";

const BATCH_ROWS = 4096;
/** Records until what parsing them left behind is collected. */
const COLLECT_AFTER = 1 << 17;

/** Reads all records behind the header of `file`. */
export function* readAggregated(file: CaptureFile, clock: ClockPair): Generator<Batch, CaptureSummary> {
  const { header, window, cursor } = file;
  const numbering = allocatorNumbering(header.version);
  const endMs = header.endMs > header.startMs ? header.endMs - header.startMs : null;
  const axis = openTimeAxis(header.startMs, endMs, clock);
  const names = openFrameNames(header.pythonVersion ?? 0);
  const objects = openNativeObjects();
  const threads = openThreadNames();
  const stacks = openStackRows(header.pid, names, objects);
  const memory = openMemoryRows(header.pid);
  /** Position of each frame in the two lists behind it: there may be a million, and none is an object. */
  const frames = new Map<number, number>();
  const codes: number[] = [];
  const instructions: number[] = [];
  const sum = { ...emptySites() };
  let sites: RowOf<"allocation_site">[] = [];
  const deltas = { line: 0, instruction: 0, native: 0, thread: 0 };
  const counts = { stacks: 0, natives: 0, stackOverflow: 0, unnamedFrames: 0, objectRecords: 0 };
  let complete = false;
  let problem: string | null = null;

  /** Stacks come before the names of their frames: they wait for the end. */
  const waitingFrames: number[] = [];
  const waitingParents: number[] = [];

  function addSite(site: AllocationSite): void {
    sum.sites += 1;
    sum.peakBytes += site.peakBytes;
    sum.peakAllocations += site.peakAllocations;
    sum.leakedBytes += site.leakedBytes;
    sum.leakedAllocations += site.leakedAllocations;
    sites.push({
      timestamp_ns: BigInt(Math.round(axis.beginNs())),
      pid: header.pid,
      thread: site.thread >>> 0,
      thread_name: threads.get(site.thread),
      allocator: ALLOCATORS[numbering[site.allocatorId] ?? 0] ?? "",
      stack_id: site.stack === 0 || site.stack > MAX_NODES ? null : site.stack,
      native_stack_id: site.nativeFrame === 0 || site.nativeFrame >= 2 ** 32 ? null : site.nativeFrame,
      peak_allocations: BigInt(site.peakAllocations),
      peak_bytes: BigInt(site.peakBytes),
      leaked_allocations: BigInt(site.leakedAllocations),
      leaked_bytes: BigInt(site.leakedBytes),
    });
  }

  function addFrame(id: number, code: number, instruction: number): void {
    if (codes.length >= MAX_NODES) {
      counts.unnamedFrames += 1;
      return;
    }
    frames.set(id, codes.length);
    codes.push(code);
    instructions.push(instruction);
  }

  /** Applies a record; false after the last. */
  function apply(record: AggregatedRecord): boolean {
    switch (record.kind) {
      case "snapshot": {
        const ms = Math.max(0, record.epochMs - header.startMs);
        axis.advance(ms);
        memory.add(ms, record.rss, record.heap, null, axis);
        return true;
      }
      case "site":
        addSite(record.site);
        return true;
      case "stack":
        // A stack names one before it: whoever follows parents comes to an end.
        if (record.parent > counts.stacks) return false;
        counts.stacks += 1;
        if (waitingFrames.length >= MAX_NODES) {
          counts.stackOverflow += 1;
          return true;
        }
        waitingFrames.push(record.frame);
        waitingParents.push(record.parent);
        return true;
      case "python_frame":
        addFrame(record.id, record.code, record.instruction);
        return true;
      case "named_frame":
        names.add(record.id, { name: record.name, file: record.file, firstLine: record.line, lineTable: null });
        addFrame(record.id, record.id, 0);
        return true;
      case "native": {
        deltas.instruction += record.instructionDelta;
        deltas.native += record.parentDelta;
        if (!(deltas.instruction >= 0 && deltas.native >= 0 && deltas.native <= counts.natives)) return false;
        if (deltas.instruction > Number.MAX_SAFE_INTEGER) return false;
        counts.natives += 1;
        stacks.native(counts.natives, deltas.native, deltas.instruction, axis.beginNs());
        return true;
      }
      case "code":
        deltas.line += record.lineDelta;
        names.add(record.id, {
          name: record.name,
          file: record.file,
          firstLine: deltas.line,
          lineTable: record.lineTable,
        });
        return true;
      case "objects":
        objects.clear();
        return true;
      case "segments":
        for (const segment of record.segments) objects.add(segment);
        return true;
      case "thread":
        deltas.thread = record.thread;
        return true;
      case "thread_name":
        threads.set(deltas.thread, record.name);
        return true;
      case "object":
        counts.objectRecords += 1;
        return true;
      case "trailer":
        complete = true;
        return false;
      default:
        return true;
    }
  }

  const parsed = collectAfter(COLLECT_AFTER);
  for (;;) {
    parsed(1);
    if (window.pos >= window.end && (window.last || !window.fill(1))) {
      problem = file.problem() ?? "it ends without its last record";
      break;
    }
    const record = cursor.record((fields) => parseAggregated(fields, header.version, header.nativeTraces));
    if (!record.ok) {
      problem =
        file.problem() ??
        `${record.cut ? "it ends inside" : "there is no"} record at byte ${window.before + window.pos}`;
      break;
    }
    if (!apply(record.value)) {
      if (!complete) problem = `a frame that cannot be, before byte ${window.before + window.pos}`;
      break;
    }
    yield* memory.take(false);
    yield* stacks.take(false);
    if (sites.length >= BATCH_ROWS) {
      yield batchFromRows("allocation_site", sites);
      sites = [];
    }
  }
  if (complete && window.bytes.subarray(window.pos, window.end).some((byte) => byte !== 0)) {
    complete = false;
    problem = `more behind its last record, at byte ${window.before + window.pos}`;
  }
  for (const [i, frame] of waitingFrames.entries()) {
    const position = frames.get(frame) ?? -1;
    const parent = Math.min(waitingParents[i] ?? 0, MAX_NODES);
    stacks.python(i + 1, parent, codes[position] ?? -1, instructions[position] ?? 0, axis.beginNs());
    yield* stacks.take(false);
  }
  if (sites.length > 0) yield batchFromRows("allocation_site", sites);
  yield* memory.take(true);
  yield* stacks.take(true);
  const end: Bracket = { time_ns: 0, error_ns: 0 };
  axis.end(end);
  yield siteTotals(header.pid, end, sum);
  return {
    totals: openLifetimes(openLifetimeRows(header.pid, () => null)).totals(),
    sites: sum,
    complete,
    stoppedItself: false,
    problem: complete ? null : problem,
    unreadBytes: complete ? 0 : window.end - window.pos,
    memoryRecords: memory.records,
    longestGapMs: axis.longestMs,
    clockSetBack: axis.setBack,
    clockUncertaintyNs: clock.uncertainty_ns,
    stackOverflow: counts.stackOverflow,
    unnamedFrames: counts.unnamedFrames + names.overflow,
    unmatchedPops: 0,
    objectRecords: counts.objectRecords,
  };
}

/** Reads a memray capture of every allocation: batches of lifetimes, stacks and memory, and what was seen. */
import type { Batch } from "../../columnar/batch.ts";
import type { ClockPair } from "../../columnar/clock-pairs.ts";
import { readAggregated } from "./aggregated-reader.ts";
import { type CaptureReading, type CaptureSummary, emptySites } from "./capture-summary.ts";
import { type CaptureFile, openCapture, recordsIn } from "./format/capture-file.ts";
import { MAX_ROWS, openLifetimeRows } from "./lifetime-rows.ts";
import { openLifetimes } from "./lifetimes.ts";
import { openMemoryRows } from "./memory-rows.ts";
import { openRecordReader } from "./record-reader.ts";
import { type Bracket, openTimeAxis } from "./time-axis.ts";
import { lifetimeTotals } from "./total-rows.ts";
import { writerStop } from "./writer-stop.ts";

export interface ReadOptions {
  /** Maps the capture's CLOCK_REALTIME to CLOCK_MONOTONIC; without it times count from the start of the capture. */
  readonly clock?: ClockPair;
}

/** Times that count from the start of a capture, for one whose machine is not this one. */
function fromItsStart(startMs: number): ClockPair {
  return { monotonic_ns: 0n, other_ns: BigInt(startMs) * 1_000_000n, uncertainty_ns: 0n };
}

/**
 * Opens a capture for reading.
 *
 * Memory is bounded whatever the file holds; what finds no room is counted.
 *
 * @throws MrmTraceError as `openCapture` does
 */
export function readCapture(path: string, options: ReadOptions = {}): CaptureReading {
  const file = openCapture(path);
  const clock = options.clock ?? fromItsStart(file.header.startMs);
  let summary: CaptureSummary | null = null;
  function* batches(): Generator<Batch> {
    try {
      summary = yield* file.header.aggregated ? readAggregated(file, clock) : readAllocations(file, clock);
    } finally {
      file[Symbol.dispose]();
    }
  }
  return { header: file.header, batches: batches(), summary: () => summary };
}

function* readAllocations(file: CaptureFile, clock: ClockPair): Generator<Batch, CaptureSummary> {
  const { header } = file;
  const endMs = header.endMs > header.startMs ? header.endMs - header.startMs : null;
  const axis = openTimeAxis(header.startMs, endMs, clock);
  const reader = openRecordReader(file, () => axis.beginNs());
  const rows = openLifetimeRows(header.pid, reader.threadName, recordsIn(file, MAX_ROWS));
  const lifetimes = openLifetimes(rows);
  const memory = openMemoryRows(header.pid);
  /** The memory record that ended `reader.ended()`; null before the first one. */
  let last: { readonly ms: number; readonly rss: number } | null = null;
  let lastMemory_ms = 0;

  /** Pairs what came before the last memory record, all of it in one interval, and gives its chunks back. */
  function* pairEnded(interval: number): Generator<Batch> {
    for (const chunk of reader.ended()) {
      for (let from = 0; ; ) {
        from = lifetimes.take(chunk, from, interval);
        if (!rows.full) break;
        yield rows.take(axis);
      }
    }
    reader.release();
    if (last === null) return;
    memory.add(last.ms, last.rss, lifetimes.liveBytes, lifetimes.liveAllocations, axis);
    last = null;
    yield* memory.take(false);
  }

  /** Pairs all that was decoded, though the interval that is open may go on. */
  function* pairAll(): Generator<Batch> {
    yield* pairEnded(axis.open - 1);
    yield* pairEnded(axis.open);
  }

  for (;;) {
    const stop = reader.next();
    yield* reader.stackRows(false);
    if (stop.kind === "full") {
      yield* pairAll();
    } else if (stop.kind === "memory") {
      // What came before the last memory record has its two bounds now.
      let before = axis.open - 1;
      if (axis.advance(stop.ms)) {
        lifetimes.halveIntervals();
        before >>>= 1;
      }
      yield* pairEnded(before);
      last = stop;
      lastMemory_ms = stop.ms;
    } else {
      yield* pairAll();
      const totals = lifetimes.totals();
      while (!lifetimes.finish()) yield rows.take(axis);
      if (rows.rows > 0) yield rows.take(axis);
      yield* memory.take(true);
      yield* reader.stackRows(true);
      const end: Bracket = { time_ns: 0, error_ns: 0 };
      axis.end(end);
      yield lifetimeTotals(header.pid, end, totals);
      const written = { records: memory.records, last_ms: lastMemory_ms };
      const stopped = stop.kind === "trailer" ? writerStop(header, totals.records, written) : null;
      return {
        totals,
        sites: emptySites(),
        complete: stop.kind === "trailer" && stopped === null,
        stoppedItself: stopped !== null,
        problem: stop.kind === "trailer" ? stopped : stop.why,
        unreadBytes: stop.unreadBytes,
        memoryRecords: memory.records,
        longestGapMs: axis.longestMs,
        clockSetBack: axis.setBack,
        clockUncertaintyNs: clock.uncertainty_ns,
        ...reader.counts(),
      };
    }
  }
}

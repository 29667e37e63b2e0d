/** What happens to words, counted, and the times of it: every access of each is looked at once. */
import type { Passes } from "../analyse/watched/passes.ts";
import { OP } from "../schema/operation.ts";
import type { WordTrace } from "./world.ts";

const isRead = (op: number | undefined): boolean => op === OP.load || op === OP.load_store;
export const isWrite = (op: number | undefined): boolean => op === OP.store || op === OP.load_store;

/** Counts of what happened to words. */
export const NOTHING = {
  hits: 0,
  passes: 0,
  reads: 0,
  writes: 0,
  /** Words that have a last pass, and of them those that were freed after it; that have a last write of which the end was not seen. */
  touched: 0,
  freed: 0,
  open: 0,
  /** Words that were written, and of them those written once. */
  written: 0,
  once: 0,
  /** Reads of what was there before the run. */
  unwritten: 0,
  /** Words, each as the share of the time in which it belongs to the working set. */
  working: 0,
  /** Time in which words live, and in which nothing reads any more what they hold. */
  lived: 0,
  unneeded: 0,
};
export type Counts = typeof NOTHING;

/** Times of words one after the other, in a room that was made for all of them: a list of millions that grows is slow. */
interface TimeList {
  readonly room: Float64Array;
  count: number;
}
const timeList = (most: number): TimeList => ({ room: new Float64Array(most), count: 0 });

function add(list: TimeList, time: number): void {
  list.room[list.count++] = time;
}

/** Puts the times in order where they lie. */
export const inOrder = ({ room, count }: TimeList): Float64Array => room.subarray(0, count).sort();

export interface Times {
  /** To the next pass, and to the last read before the next write: how long each of them runs down. */
  readonly uses: TimeList;
  readonly needs: TimeList;
  readonly intervals: TimeList;
  readonly retained: TimeList;
  readonly ages: TimeList;
}

/** Room for the times of so many words with so many accesses: one of each kind for each access, and one for the end of a word. */
export function timesOf(words: number, accesses: number, perByte: boolean): Times {
  const most = words + accesses;
  const [stretches, others] = perByte ? [most, most] : [0, most];
  return {
    uses: timeList(stretches),
    needs: timeList(stretches),
    intervals: timeList(others),
    retained: timeList(others),
    ages: timeList(others),
  };
}

/** Adds a word to the counts and times of its stratum. */
export function addWord({ time_ns, op, freed_ns }: WordTrace, gapNs: number, counts: Counts, times: Times): void {
  let passes = 0;
  let epochs = 0;
  let start = Number.NaN;
  let write = Number.NaN;
  let read = Number.NaN;
  let before = Number.NEGATIVE_INFINITY;
  // Whether the pass has read, and written, up to here.
  let hasRead = false;
  let hasWritten = false;
  for (let hit = 0; hit < time_ns.length; hit++) {
    const time = time_ns[hit] ?? 0;
    if (time - before >= gapNs) {
      if (passes > 0) add(times.intervals, time - start);
      passes += 1;
      start = time;
      hasRead = false;
      hasWritten = false;
    }
    before = time;
    const kind = op[hit];
    if (isRead(kind)) {
      read = time;
      if (!hasRead) {
        counts.reads += 1;
        if (Number.isNaN(write)) counts.unwritten += 1;
        else add(times.ages, time - write);
      }
      hasRead = true;
    }
    if (isWrite(kind)) {
      if (!hasWritten) {
        counts.writes += 1;
        if (epochs > 0) add(times.retained, read > write ? read - write : 0);
        epochs += 1;
      }
      hasWritten = true;
      write = time;
      read = Number.NaN;
    }
  }
  counts.hits += time_ns.length;
  counts.passes += passes;
  const isFreed = freed_ns !== undefined;
  if (passes > 0) counts.touched += 1;
  if (passes > 0 && isFreed) counts.freed += 1;
  if (epochs > 0) counts.written += 1;
  if (epochs > 0 && isFreed) add(times.retained, read > write ? read - write : 0);
  else if (epochs > 0) counts.open += 1;
  if (epochs === 1) counts.once += 1;
}

/** Adds the stretches of a word to those of its stratum. */
export function addStretches(
  { time_ns, op, freed_ns }: WordTrace,
  { start_ns }: Passes,
  born: number,
  runNs: number,
  counts: Counts,
  times: Times,
) {
  start_ns.forEach((start, i) => {
    add(times.uses, start - (start_ns[i - 1] ?? born));
  });
  let from = born;
  let read = born;
  const close = (end: number): void => {
    add(times.needs, read - from);
    counts.unneeded += end - read;
    from = end;
    read = end;
  };
  time_ns.forEach((time, i) => {
    if (isRead(op[i])) read = time;
    if (isWrite(op[i])) close(time);
  });
  if (freed_ns !== undefined) close(freed_ns);
  counts.lived += (freed_ns ?? runNs) - born;
}

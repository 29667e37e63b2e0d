/** What the accesses to each address say: how far apart they are, how long data is needed, how often it is written. */
import { OP } from "../../schema/operation.ts";
import type { SortedAccesses } from "./access-buckets.ts";
import { addTime, type BinnedTimes, binnedTimes, binOf, GROUPS } from "./binned-times.ts";
import { classOf, opOf } from "./trace-columns.ts";

const LINE_SHIFT = 6;
const PAGE_SHIFT = 12;
/** Knuth's multiplier: spreads neighbouring lines over the groups. */
const SPREAD = 0x9e3779b1;
const GROUP_SHIFT = 26;

/** Blocks of one grain: touched, and of them with one access and with two. */
export interface BlockCounts {
  distinct: number;
  once: number;
  twice: number;
}

/** Sums of one class; by group of 64 B lines where they are arrays. */
export interface AddressSums {
  readonly addresses: Float64Array;
  /** Addresses with a store, and of them those with one. */
  readonly written: Float64Array;
  readonly written_once: Float64Array;
  /** 64 B lines and 4 KiB pages touched. */
  readonly lines: BlockCounts;
  readonly pages: BlockCounts;
  /** From each access to the next one; from the last one of an address to the end of the trace, and open there. */
  readonly intervals: BinnedTimes;
  /** From one access to the next. */
  readonly reuse: BinnedTimes;
  /** Sum of those times. */
  readonly reuse_ns: Float64Array;
  /** From each store to the last read before the next one; open for the last one of an address. */
  readonly retention: BinnedTimes;
  /** From the last store to each read; of one before the first store, from the begin of the trace, and open there. */
  readonly ages: BinnedTimes;
}

export function addressSums(): AddressSums {
  return {
    addresses: new Float64Array(GROUPS),
    written: new Float64Array(GROUPS),
    written_once: new Float64Array(GROUPS),
    lines: { distinct: 0, once: 0, twice: 0 },
    pages: { distinct: 0, once: 0, twice: 0 },
    intervals: binnedTimes(),
    reuse: binnedTimes(),
    reuse_ns: new Float64Array(GROUPS),
    retention: binnedTimes(),
    ages: binnedTimes(),
  };
}

const isRead = (op: number): boolean => op === OP.load || op === OP.load_store;
const isWrite = (op: number): boolean => op === OP.store || op === OP.load_store;

/** An address with one access. */
function takeOne(sums: AddressSums, now: number, op: number, group: number, windowNs: number): void {
  sums.addresses[group] = (sums.addresses[group] as number) + 1;
  addTime(sums.intervals, windowNs - now, binOf(windowNs - now), 1, group, false);
  if (isRead(op)) addTime(sums.ages, now, binOf(now), 1, group, false);
  if (!isWrite(op)) return;
  sums.written[group] = (sums.written[group] as number) + 1;
  sums.written_once[group] = (sums.written_once[group] as number) + 1;
  addTime(sums.retention, 0, 0, 1, group, false);
}

/** An address with several accesses: the rows [from, to), in order of time. */
function takeSeveral(
  { time_ns: time, code }: SortedAccesses,
  from: number,
  end: number,
  sums: AddressSums,
  group: number,
  windowNs: number,
): void {
  let writes = 0;
  let before = Number.NaN;
  let written = Number.NaN;
  let lastRead = Number.NaN;
  for (let i = from; i < end; i++) {
    const now = time[i] as number;
    const op = opOf(code[i] as number);
    if (i > from) {
      const gap = now - before;
      const bin = binOf(gap);
      addTime(sums.intervals, gap, bin, 1, group, true);
      addTime(sums.reuse, gap, bin, 1, group, true);
      sums.reuse_ns[group] = (sums.reuse_ns[group] as number) + gap;
    }
    before = now;
    if (isRead(op)) {
      lastRead = now;
      const wasWritten = !Number.isNaN(written);
      const age = wasWritten ? now - written : now;
      addTime(sums.ages, age, binOf(age), 1, group, wasWritten);
    }
    if (isWrite(op)) {
      if (!Number.isNaN(written)) {
        const need = lastRead > written ? lastRead - written : 0;
        addTime(sums.retention, need, binOf(need), 1, group, true);
      }
      writes += 1;
      written = now;
      lastRead = Number.NaN;
    }
  }
  sums.addresses[group] = (sums.addresses[group] as number) + 1;
  if (writes > 0) sums.written[group] = (sums.written[group] as number) + 1;
  if (writes === 1) sums.written_once[group] = (sums.written_once[group] as number) + 1;
  const rest = windowNs - before;
  addTime(sums.intervals, rest, binOf(rest), 1, group, false);
  if (writes > 0) {
    const need = lastRead > written ? lastRead - written : 0;
    addTime(sums.retention, need, binOf(need), 1, group, false);
  }
}

/** Counts a block that was accessed so many times. */
function countBlock(blocks: BlockCounts, accesses: number): void {
  if (accesses === 0) return;
  blocks.distinct += 1;
  if (accesses === 1) blocks.once += 1;
  if (accesses === 2) blocks.twice += 1;
}

/**
 * Adds sorted accesses to the sums of their classes. A 4 KiB page must come in one call, or its lines count twice.
 * @param sums one per class, in the order of CLASSES
 */
export function addressPass(ordered: SortedAccesses, windowNs: number, sums: readonly AddressSums[]): void {
  const { rows, low, high, code, time_ns: time } = ordered;
  let kind = -1;
  let sumsOfClass = sums[0] as AddressSums;
  let line = 0;
  let lineHigh = 0;
  let onLine = 0;
  let onPage = 0;
  for (let from = 0; from < rows; ) {
    const l = low[from] as number;
    const h = high[from] as number;
    const c = code[from] as number;
    const k = classOf(c);
    let end = from + 1;
    while (end < rows && low[end] === l && high[end] === h && classOf(code[end] as number) === k) end += 1;
    const lineNumber = l >>> LINE_SHIFT;
    if (k !== kind || h !== lineHigh || lineNumber !== line) {
      countBlock(sumsOfClass.lines, onLine);
      onLine = 0;
      const page = lineNumber >>> (PAGE_SHIFT - LINE_SHIFT);
      if (k !== kind || h !== lineHigh || page !== line >>> (PAGE_SHIFT - LINE_SHIFT)) {
        countBlock(sumsOfClass.pages, onPage);
        onPage = 0;
      }
      sumsOfClass = sums[k] as AddressSums;
      kind = k;
      lineHigh = h;
      line = lineNumber;
    }
    onLine += end - from;
    onPage += end - from;
    const group = Math.imul(lineNumber ^ Math.imul(h, SPREAD), SPREAD) >>> GROUP_SHIFT;
    if (end - from === 1) takeOne(sumsOfClass, time[from] as number, opOf(c), group, windowNs);
    else takeSeveral(ordered, from, end, sumsOfClass, group, windowNs);
    from = end;
  }
  countBlock(sumsOfClass.lines, onLine);
  countBlock(sumsOfClass.pages, onPage);
}

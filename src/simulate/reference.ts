/** What the figures are by definition, computed from every access: docs/metrics.md in a few lines each. */

import { coveredNs, isInside, type Span } from "../analyse/input/span.ts";
import { mergePasses, type Passes } from "../analyse/watched/passes.ts";
import { collectAround } from "../columnar/collect-after.ts";
import { OP } from "../schema/operation.ts";
import { firstIndex } from "../statistics/first-index.ts";
import type { WordTrace, WorldStratum } from "./world.ts";

const WORD_BYTES = 8;

/** The truth of a figure: one number, or all from `lo` to `hi` where the definition leaves it open. */
export interface Truth {
  readonly lo: number;
  readonly hi: number;
}

const exactly = (value: number): Truth => ({ lo: value, hi: value });

/** Where half of the values are one number and half another, both are the median: a thousandth to either side of q. */
const TIE = 0.001;

/** Values of words in order, each for so many alike. */
interface Values {
  readonly sorted: Float64Array;
  readonly repeats: number;
}

/** The least value up to which there are `wanted` of all; Infinity where there are fewer. */
function valueOfRank(all: readonly Values[], wanted: number): number {
  const countUpTo = (value: number): number =>
    all.reduce((sum, { sorted, repeats }) => {
      return sum + repeats * firstIndex(sorted.length, (i) => (sorted[i] ?? 0) <= value);
    }, 0);
  const first = all.map(({ sorted }) => {
    const i = firstIndex(sorted.length, (k) => countUpTo(sorted[k] ?? 0) < wanted);
    return sorted[i] ?? Number.POSITIVE_INFINITY;
  });
  return Math.min(...first);
}

/** The q-quantile of values of which `endless` more are longer than any: Infinity where they reach it. */
function quantile(all: readonly Values[], endless: number, q: number): Truth | null {
  const count = all.reduce((sum, { sorted, repeats }) => sum + repeats * sorted.length, 0);
  if (count === 0) return null;
  const end = (p: number): number => valueOfRank(all, Math.max(1, Math.ceil(p * (count + endless))));
  return { lo: end(q - TIE), hi: end(q + TIE) };
}

/** The q-quantile of values; null where there are none. */
export function quantileOf(values: readonly number[], q: number): Truth | null {
  return quantile([{ sorted: Float64Array.from(values).sort(), repeats: 1 }], 0, q);
}

/** Stretches in which a time runs down to 0, of words: their lengths in order, and all of the time that there is. */
interface Stretches {
  readonly sorted: Float64Array;
  /** Time in which it is 0, and all of the time. */
  readonly zero: number;
  readonly all: number;
  readonly repeats: number;
}

/** The q-quantile over moments of times that run down; Infinity where that is in a stretch whose end was not seen. */
function momentQuantile(strata: readonly Stretches[], q: number): Truth | null {
  const sum = (part: (one: Stretches) => number): number =>
    strata.reduce((total, one) => total + one.repeats * part(one), 0);
  const total = sum(({ all }) => all);
  if (!(total > 0)) return null;
  // Moments in which no more than x is left: the last x of each stretch, or all of it.
  const below = strata.map(({ sorted }) => {
    const sums = new Float64Array(sorted.length + 1);
    for (let i = 0; i < sorted.length; i++) sums[i + 1] = (sums[i] ?? 0) + (sorted[i] ?? 0);
    return sums;
  });
  const upTo = (x: number): readonly [time: number, stretches: number] => {
    let time = sum(({ zero }) => zero);
    let longer = 0;
    strata.forEach(({ sorted, repeats }, s) => {
      const k = firstIndex(sorted.length, (i) => (sorted[i] ?? 0) < x);
      time += repeats * ((below[s]?.[k] ?? 0) + (sorted.length - k) * x);
      longer += repeats * (sorted.length - k);
    });
    return [time, longer];
  };
  const end = (p: number): number => {
    if (upTo(0)[0] >= p * total) return 0;
    const reached = strata.map(({ sorted }) => {
      const i = firstIndex(sorted.length, (k) => upTo(sorted[k] ?? 0)[0] < p * total);
      return sorted[i] ?? Number.POSITIVE_INFINITY;
    });
    const length = Math.min(...reached);
    if (length === Number.POSITIVE_INFINITY) return length;
    // Up to there time grows by all stretches that are no shorter.
    const [time, longer] = upTo(length);
    return length - (time - p * total) / longer;
  };
  return { lo: end(q - TIE), hi: end(q + TIE) };
}

/** Of each byte alike, at each moment of its life. */
const momentQuantiles = (uses: readonly Stretches[], needs: readonly Stretches[]): [string, Truth | null][] => [
  ["next_use_p50_ns", momentQuantile(uses, 0.5)],
  ["next_use_p90_ns", momentQuantile(uses, 0.9)],
  ["still_needed_p50_ns", momentQuantile(needs, 0.5)],
  ["still_needed_p90_ns", momentQuantile(needs, 0.9)],
];

const isRead = (op: number | undefined): boolean => op === OP.load || op === OP.load_store;
const isWrite = (op: number | undefined): boolean => op === OP.store || op === OP.load_store;

type Piece = readonly [begin_ns: number, end_ns: number];

/** Share of the moments t of some pieces of time in which the word is touched within [t, t + window], inside the piece. */
function touchedShare({ time_ns }: WordTrace, window: number, pieces: readonly Piece[]): number {
  let covered = 0;
  let moments = 0;
  for (const [begin, end] of pieces) {
    const last = end - window;
    if (last <= begin) continue;
    moments += last - begin;
    let upTo = begin;
    for (let i = firstIndex(time_ns.length, (k) => (time_ns[k] ?? 0) < begin); i < time_ns.length; i++) {
      const time = time_ns[i] ?? 0;
      if (time - window >= last) break;
      const from = Math.max(upTo, time - window);
      upTo = Math.max(upTo, Math.min(time, last));
      if (upTo > from) covered += upTo - from;
    }
  }
  return covered / moments;
}

/** Counts of what happened to words. */
const NOTHING = {
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
type Counts = typeof NOTHING;

interface Times {
  /** To the next pass, and to the last read before the next write: how long each of them runs down. */
  readonly uses: number[];
  readonly needs: number[];
  readonly intervals: number[];
  readonly retained: number[];
  readonly ages: number[];
}
const noTimes = (): Times => ({ uses: [], needs: [], intervals: [], retained: [], ages: [] });

/** Of millions: from() would ask for them one by one. */
const inOrder = (values: readonly number[]): Float64Array => new Float64Array(values).sort();

/** Adds a word to the counts and times of its stratum. */
function addWord(word: WordTrace, passes: Passes, counts: Counts, times: Times): void {
  let epochs = 0;
  let write = Number.NaN;
  let read = Number.NaN;
  let hit = 0;
  for (let i = 0; i < passes.count; i++) {
    if ((passes.reads[i] ?? 0) > 0) counts.reads += 1;
    if ((passes.writes[i] ?? 0) > 0) counts.writes += 1;
    if (i > 0) times.intervals.push((passes.start_ns[i] ?? 0) - (passes.start_ns[i - 1] ?? 0));
    let readCounted = false;
    let wrote = false;
    for (const end = hit + (passes.hits[i] ?? 0); hit < end; hit++) {
      const time = word.time_ns[hit] ?? 0;
      if (isRead(word.op[hit])) {
        read = time;
        if (!readCounted) {
          if (Number.isNaN(write)) counts.unwritten += 1;
          else times.ages.push(time - write);
        }
        readCounted = true;
      }
      if (isWrite(word.op[hit])) {
        if (!wrote) {
          if (epochs > 0) times.retained.push(read > write ? read - write : 0);
          epochs += 1;
        }
        wrote = true;
        write = time;
        read = Number.NaN;
      }
    }
  }
  counts.hits += word.time_ns.length;
  counts.passes += passes.count;
  const isFreed = word.freed_ns !== undefined;
  if (passes.count > 0) counts.touched += 1;
  if (passes.count > 0 && isFreed) counts.freed += 1;
  if (epochs > 0) counts.written += 1;
  if (epochs > 0 && isFreed) times.retained.push(read > write ? read - write : 0);
  else if (epochs > 0) counts.open += 1;
  if (epochs === 1) counts.once += 1;
}

/** Adds the stretches of a word to those of its stratum. */
function addStretches(
  { time_ns, op, freed_ns }: WordTrace,
  { start_ns }: Passes,
  born: number,
  runNs: number,
  counts: Counts,
  times: Times,
) {
  start_ns.forEach((start, i) => {
    times.uses.push(start - (start_ns[i - 1] ?? born));
  });
  let from = born;
  let read = born;
  const close = (end: number): void => {
    times.needs.push(read - from);
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

/** The window of the working set without a token axis. */
const WORKING_NS = 100e6;

/** Of memory that nobody freed. */
const ALWAYS = [0, Number.POSITIVE_INFINITY] as const;

/**
 * The truth of each watched figure of the words of some strata together; null where they have none.
 * @param gapNs what separates passes, as `passGapNs` gives it
 * @param perByte false leaves out what counts each byte at each moment, which is a tenth of the work of a world
 */
export function truthOf(
  strata: readonly WorldStratum[],
  runNs: number,
  gapNs: number,
  perByte = true,
): Map<string, Truth | null> {
  const all = { ...NOTHING };
  const byRepeats = new Map<number, { counts: Counts; times: Times }>();
  for (const { words, repeats = 1, life_ns: [born, freed] = ALWAYS } of strata) {
    // What was freed before the run has no moment in it.
    if (freed <= 0) continue;
    const { counts, times } = byRepeats.get(repeats) ?? { counts: { ...NOTHING }, times: noTimes() };
    byRepeats.set(repeats, { counts, times });
    for (const one of words) {
      const word = freed < runNs ? { ...one, freed_ns: freed } : one;
      const passes = mergePasses(word.time_ns, word.op, gapNs);
      addWord(word, passes, counts, times);
      if (perByte) addStretches(word, passes, Math.max(0, born), runNs, counts, times);
      counts.working += touchedShare(word, WORKING_NS, [[0, runNs]]);
    }
    collectAround(words.reduce((hits, { time_ns }) => hits + time_ns.length, 0));
  }
  const intervals: Values[] = [];
  const retained: Values[] = [];
  const ages: Values[] = [];
  const uses: Stretches[] = [];
  const needs: Stretches[] = [];
  for (const [repeats, { counts, times }] of byRepeats) {
    for (const name of Object.keys(all) as (keyof Counts)[]) all[name] += repeats * counts[name];
    intervals.push({ sorted: inOrder(times.intervals), repeats });
    retained.push({ sorted: inOrder(times.retained), repeats });
    ages.push({ sorted: inOrder(times.ages), repeats });
    uses.push({ sorted: inOrder(times.uses), zero: 0, all: counts.lived, repeats });
    needs.push({ sorted: inOrder(times.needs), zero: counts.unneeded, all: counts.lived, repeats });
  }
  const seconds = runNs / 1e9;
  const { hits, passes, reads, writes, touched, freed, written, open, once, unwritten, working } = all;
  /** The last pass before a free has no next one: the definition leaves open whether it counts as longer than any. */
  const interval = (q: number): Truth | null => {
    const [least, most] = [quantile(intervals, touched - freed, q), quantile(intervals, touched, q)];
    return least === null || most === null ? null : { lo: least.lo, hi: most.hi };
  };
  return new Map<string, Truth | null>([
    ["read_bytes_per_s", exactly((WORD_BYTES * reads) / seconds)],
    ["write_bytes_per_s", exactly((WORD_BYTES * writes) / seconds)],
    ["reads_per_write", writes > 0 ? exactly(reads / writes) : null],
    ["hits_per_pass", passes > 0 ? exactly(hits / passes) : null],
    ["iai_p50_ns", interval(0.5)],
    ["iai_p90_ns", interval(0.9)],
    ["iai_p99_ns", interval(0.99)],
    ["retention_p50_ns", quantile(retained, open, 0.5)],
    ["retention_p90_ns", quantile(retained, open, 0.9)],
    ["retention_p99_ns", quantile(retained, open, 0.99)],
    ...(perByte ? momentQuantiles(uses, needs) : []),
    ["age_at_read_p50_ns", quantile(ages, unwritten, 0.5)],
    ["age_at_read_p99_ns", quantile(ages, unwritten, 0.99)],
    ["working_set_bytes", exactly(WORD_BYTES * working)],
    ["write_once_ratio", written > 0 ? exactly(once / written) : null],
  ]);
}

/** What is told of passes alone, whatever came before the part of a run. */
const OF_PASSES: ReadonlySet<string> = new Set([
  ...["read_bytes_per_s", "write_bytes_per_s", "reads_per_write", "hits_per_pass"],
  ...["iai_p50_ns", "iai_p90_ns", "iai_p99_ns"],
]);

/**
 * The truth of what is told of the passes in a part of a run, of the words of some strata together.
 * @param piece begin and end of the part, ns
 * @param gapNs what separates passes, as `passGapNs` gives it
 */
export function truthWithin(
  strata: readonly WorldStratum[],
  [begin, end]: Piece,
  gapNs: number,
): Map<string, Truth | null> {
  const cut = ({ time_ns, op, freed_ns }: WordTrace): WordTrace => {
    const from = firstIndex(time_ns.length, (i) => (time_ns[i] ?? 0) < begin);
    const until = firstIndex(time_ns.length, (i) => (time_ns[i] ?? 0) <= end);
    const isFreed = freed_ns !== undefined && freed_ns <= end;
    return { time_ns: time_ns.subarray(from, until), op: op.subarray(from, until), ...(isFreed ? { freed_ns } : {}) };
  };
  // Of passes alone, only how a life lies to the end of the part counts, not how to the begin of the run.
  const inside = strata.map(
    ({ life_ns: [born, freed] = ALWAYS, ...stratum }): WorldStratum => ({
      ...stratum,
      words: stratum.words.map(cut),
      life_ns: [born - begin, freed - begin],
    }),
  );
  return new Map([...truthOf(inside, end - begin, gapNs, false)].filter(([metric]) => OF_PASSES.has(metric)));
}

/** Of steps the window of the working set is so many times what one takes. */
const WORKING_TURNS = 2;

/**
 * The truth of what is told for each token, of the words of some strata together; null where the definition has no value.
 * @param span of the steps
 * @param gapNs what separates passes, as `passGapNs` gives it
 */
export function truthOfSteps(strata: readonly WorldStratum[], span: Span, gapNs: number): Map<string, Truth | null> {
  const pieces = Array.from(span.begin_ns, (begin, i): Piece => [begin, span.end_ns[i] ?? begin]);
  const window = WORKING_TURNS * (span.turn_ns ?? Number.NaN);
  const all = { words: 0, reads: 0, writes: 0, working: 0 };
  const time_ns = pieces.reduce((sum, [begin, end]) => sum + end - begin, 0);
  for (const { words, repeats = 1, life_ns: [born, freed] = ALWAYS } of strata) {
    for (const word of words) {
      const { count, start_ns, reads, writes } = mergePasses(word.time_ns, word.op, gapNs);
      for (let i = 0; i < count; i++) {
        if (!isInside(span, start_ns[i] ?? 0)) continue;
        if ((reads[i] ?? 0) > 0) all.reads += repeats;
        if ((writes[i] ?? 0) > 0) all.writes += repeats;
      }
      // As many as are there in the mean of the span's moments.
      all.words += (repeats * coveredNs(span, born, Math.min(freed, word.freed_ns ?? freed))) / time_ns;
      all.working += repeats * touchedShare(word, window, pieces);
    }
  }
  const finite = (value: number): Truth | null => (Number.isFinite(value) ? exactly(value) : null);
  const perToken = (passes: number): Truth | null => finite(passes / (all.words * (span.tokens ?? Number.NaN)));
  return new Map([
    ["reads_per_byte_per_token", perToken(all.reads)],
    ["writes_per_byte_per_token", perToken(all.writes)],
    ["working_set_bytes", finite(WORD_BYTES * all.working)],
  ]);
}

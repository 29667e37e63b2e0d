/** What the figures are by definition, computed from every access: docs/metrics.md in a few lines each. */

import { coveredNs, isInside, type Span } from "../analyse/input/span.ts";
import { mergePasses } from "../analyse/watched/passes.ts";
import { firstIndex } from "../statistics/first-index.ts";
import { momentQuantile, quantile, type Stretches, type Truth, type Values } from "./true-quantiles.ts";
import { addStretches, addWord, type Counts, inOrder, NOTHING, type Times, timesOf } from "./word-times.ts";
import type { WordTrace, WorldStratum } from "./world.ts";

const WORD_BYTES = 8;

const exactly = (value: number): Truth => ({ lo: value, hi: value });

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

/** The window of the working set without a token axis. */
const WORKING_NS = 100e6;

/** Of memory that nobody freed. */
const ALWAYS = [0, Number.POSITIVE_INFINITY] as const;

/** Counts of words, and their times in order. */
interface WordGroup {
  readonly counts: Counts;
  readonly times: Times;
  readonly repeats: number;
}

/** What happens to the words of some strata of which one word stands for as many. */
function groupOf(
  strata: readonly WorldStratum[],
  repeats: number,
  runNs: number,
  gapNs: number,
  asked: Asked,
): WordGroup {
  const counts = { ...NOTHING };
  const sum = (part: (stratum: WorldStratum) => number): number => strata.reduce((all, one) => all + part(one), 0);
  const accesses = sum(({ words }) => words.reduce((all, { time_ns }) => all + time_ns.length, 0));
  const times = timesOf(
    sum(({ words }) => words.length),
    accesses,
    asked.perByte,
  );
  for (const { words, life_ns: [born, freed] = ALWAYS } of strata) {
    for (const one of words) {
      const word = freed < runNs ? { ...one, freed_ns: freed } : one;
      addWord(word, gapNs, counts, times);
      if (asked.perByte) {
        addStretches(word, mergePasses(word.time_ns, word.op, gapNs), Math.max(0, born), runNs, counts, times);
      }
      if (asked.lives) counts.working += touchedShare(word, WORKING_NS, [[0, runNs]]);
    }
  }
  return { counts, times, repeats };
}

/** Which figures are asked for beside those of passes. */
interface Asked {
  /** What is told of writes, of reads back to their writes, and of the working set. */
  readonly lives: boolean;
  /** What counts each byte at each moment, which is a tenth of the work of a world. */
  readonly perByte: boolean;
}

/** What is told of passes alone, whatever came before the part of a run. */
function truthOfPasses(groups: readonly WordGroup[], all: Counts, runNs: number): [string, Truth | null][] {
  const seconds = runNs / 1e9;
  const { hits, passes, reads, writes, touched, freed } = all;
  const intervals = groups.map(({ times, repeats }): Values => ({ sorted: inOrder(times.intervals), repeats }));
  /** The last pass before a free has no next one: the definition leaves open whether it counts as longer than any. */
  const interval = (q: number): Truth | null => {
    const [least, most] = [quantile(intervals, touched - freed, q), quantile(intervals, touched, q)];
    return least === null || most === null ? null : { lo: least.lo, hi: most.hi };
  };
  return [
    ["read_bytes_per_s", exactly((WORD_BYTES * reads) / seconds)],
    ["write_bytes_per_s", exactly((WORD_BYTES * writes) / seconds)],
    ["reads_per_write", writes > 0 ? exactly(reads / writes) : null],
    ["hits_per_pass", passes > 0 ? exactly(hits / passes) : null],
    ["iai_p50_ns", interval(0.5)],
    ["iai_p90_ns", interval(0.9)],
    ["iai_p99_ns", interval(0.99)],
  ];
}

function truthOfLives(groups: readonly WordGroup[], all: Counts): [string, Truth | null][] {
  const { written, open, once, unwritten, working } = all;
  const retained = groups.map(({ times, repeats }): Values => ({ sorted: inOrder(times.retained), repeats }));
  const ages = groups.map(({ times, repeats }): Values => ({ sorted: inOrder(times.ages), repeats }));
  return [
    ["retention_p50_ns", quantile(retained, open, 0.5)],
    ["retention_p90_ns", quantile(retained, open, 0.9)],
    ["retention_p99_ns", quantile(retained, open, 0.99)],
    ["age_at_read_p50_ns", quantile(ages, unwritten, 0.5)],
    ["age_at_read_p99_ns", quantile(ages, unwritten, 0.99)],
    ["working_set_bytes", exactly(WORD_BYTES * working)],
    ["write_once_ratio", written > 0 ? exactly(once / written) : null],
  ];
}

/** Of each byte alike, at each moment of its life. */
function truthOfMoments(groups: readonly WordGroup[]): [string, Truth | null][] {
  const uses = groups.map(({ counts, times, repeats }): Stretches => {
    return { sorted: inOrder(times.uses), zero: 0, all: counts.lived, repeats };
  });
  const needs = groups.map(({ counts, times, repeats }): Stretches => {
    return { sorted: inOrder(times.needs), zero: counts.unneeded, all: counts.lived, repeats };
  });
  return [
    ["next_use_p50_ns", momentQuantile(uses, 0.5)],
    ["next_use_p90_ns", momentQuantile(uses, 0.9)],
    ["still_needed_p50_ns", momentQuantile(needs, 0.5)],
    ["still_needed_p90_ns", momentQuantile(needs, 0.9)],
  ];
}

function truthOfAsked(
  strata: readonly WorldStratum[],
  runNs: number,
  gapNs: number,
  asked: Asked,
): Map<string, Truth | null> {
  // What was freed before the run has no moment in it.
  const there = strata.filter(({ life_ns: [, freed] = ALWAYS }) => freed > 0);
  const groups = [...Map.groupBy(there, ({ repeats = 1 }) => repeats)].map(([repeats, list]) =>
    groupOf(list, repeats, runNs, gapNs, asked),
  );
  const all = { ...NOTHING };
  for (const { counts, repeats } of groups) {
    for (const name of Object.keys(all) as (keyof Counts)[]) all[name] += repeats * counts[name];
  }
  return new Map([
    ...truthOfPasses(groups, all, runNs),
    ...(asked.lives ? truthOfLives(groups, all) : []),
    ...(asked.perByte ? truthOfMoments(groups) : []),
  ]);
}

/**
 * The truth of each watched figure of the words of some strata together; null where they have none.
 * @param gapNs what separates passes, as `passGapNs` gives it
 * @param perByte false leaves out what counts each byte at each moment
 */
export function truthOf(
  strata: readonly WorldStratum[],
  runNs: number,
  gapNs: number,
  perByte = true,
): Map<string, Truth | null> {
  return truthOfAsked(strata, runNs, gapNs, { lives: true, perByte });
}

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
  return truthOfAsked(inside, end - begin, gapNs, { lives: false, perByte: false });
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

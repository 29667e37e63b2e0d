/** What the figures are by definition, computed from every access: docs/metrics.md in a few lines each. */

import { mergePasses, type Passes } from "../../../src/analyse/watched/passes.ts";
import { OP } from "../../../src/schema/operation.ts";
import type { WordTrace, World } from "./world.ts";

const GAP_NS = 50_000;
const WORD_BYTES = 8;

const passesOf = ({ time_ns, op }: WordTrace): Passes => mergePasses(time_ns, op, GAP_NS);

/** The truth of a figure: one number, or all from `lo` to `hi` where the definition leaves it open. */
export interface Truth {
  readonly lo: number;
  readonly hi: number;
}

const exactly = (value: number): Truth => ({ lo: value, hi: value });

/** Where half of the values are one number and half another, both are the median: a thousandth to either side of q. */
const TIE = 0.001;

/** The q-quantile of values of which `endless` more are longer than any: Infinity where they reach it. */
function quantile(values: readonly number[], endless: number, q: number): Truth | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  const at = (p: number): number =>
    sorted[Math.max(0, Math.ceil(p * (values.length + endless)) - 1)] ?? Number.POSITIVE_INFINITY;
  return { lo: at(q - TIE), hi: at(q + TIE) };
}

const isRead = (op: number | undefined): boolean => op === OP.load || op === OP.load_store;
const isWrite = (op: number | undefined): boolean => op === OP.store || op === OP.load_store;

/** Share of the moments t of the run in which the word is touched within [t, t + window]. */
function touchedShare({ time_ns }: WordTrace, window: number, run: number): number {
  let covered = 0;
  let upTo = 0;
  for (const time of time_ns) {
    const from = Math.max(upTo, time - window);
    const end = Math.min(time, run - window);
    if (end > from) covered += end - from;
    upTo = Math.max(upTo, end);
  }
  return covered / (run - window);
}

/** The truth of each watched figure of all words of the world together; null where it has none. */
export function truthOf(world: World): Map<string, Truth | null> {
  const words = world.strata.flatMap((stratum) => stratum.words);
  const seconds = world.run_ns / 1e9;
  let reads = 0;
  let writes = 0;
  let hits = 0;
  let passesAll = 0;
  const intervals: number[] = [];
  const retained: number[] = [];
  const ages: number[] = [];
  let lastPasses = 0;
  let lastWrites = 0;
  let unwritten = 0;
  let written = 0;
  let once = 0;
  for (const word of words) {
    const passes = passesOf(word);
    passesAll += passes.count;
    hits += word.time_ns.length;
    for (let i = 0; i < passes.count; i++) {
      if ((passes.reads[i] ?? 0) > 0) reads += 1;
      if ((passes.writes[i] ?? 0) > 0) writes += 1;
      if (i > 0) intervals.push((passes.start_ns[i] ?? 0) - (passes.start_ns[i - 1] ?? 0));
    }
    if (passes.count > 0) lastPasses += 1;
    let epochs = 0;
    let write = Number.NaN;
    let read = Number.NaN;
    let hit = 0;
    for (let i = 0; i < passes.count; i++) {
      let readCounted = false;
      let wrote = false;
      for (const end = hit + (passes.hits[i] ?? 0); hit < end; hit++) {
        const time = word.time_ns[hit] ?? 0;
        if (isRead(word.op[hit])) {
          read = time;
          if (!readCounted) {
            if (Number.isNaN(write)) unwritten += 1;
            else ages.push(time - write);
          }
          readCounted = true;
        }
        if (isWrite(word.op[hit])) {
          if (!wrote) {
            if (epochs > 0) retained.push(read > write ? read - write : 0);
            epochs += 1;
          }
          wrote = true;
          write = time;
          read = Number.NaN;
        }
      }
    }
    if (epochs > 0) {
      written += 1;
      lastWrites += 1;
    }
    if (epochs === 1) once += 1;
  }
  const window = 100e6;
  const touched = words.reduce((sum, word) => sum + touchedShare(word, window, world.run_ns), 0);
  return new Map<string, Truth | null>([
    ["read_bytes_per_s", exactly((WORD_BYTES * reads) / seconds)],
    ["write_bytes_per_s", exactly((WORD_BYTES * writes) / seconds)],
    ["reads_per_write", writes > 0 ? exactly(reads / writes) : null],
    ["hits_per_pass", passesAll > 0 ? exactly(hits / passesAll) : null],
    ["iai_p50_ns", quantile(intervals, lastPasses, 0.5)],
    ["iai_p90_ns", quantile(intervals, lastPasses, 0.9)],
    ["iai_p99_ns", quantile(intervals, lastPasses, 0.99)],
    ["retention_p50_ns", quantile(retained, lastWrites, 0.5)],
    ["retention_p90_ns", quantile(retained, lastWrites, 0.9)],
    ["retention_p99_ns", quantile(retained, lastWrites, 0.99)],
    ["age_at_read_p50_ns", quantile(ages, unwritten, 0.5)],
    ["age_at_read_p99_ns", quantile(ages, unwritten, 0.99)],
    ["working_set_bytes", exactly(WORD_BYTES * touched)],
    ["write_once_ratio", written > 0 ? exactly(once / written) : null],
  ]);
}

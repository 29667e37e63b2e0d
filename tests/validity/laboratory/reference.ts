/** The formulas of docs/metrics.md as code: each watched figure from a complete trace, as plainly as it is defined, however slow. */
import { OP } from "../../../src/schema/operation.ts";
import type { Truth } from "../../../src/simulate/reference.ts";

/** Accesses of one word in order of time: ns since the start, and values of OP. */
export interface Word {
  readonly hits: readonly (readonly [time_ns: number, op: number])[];
  /** When its bytes were freed; null where they were not. */
  readonly freed_ns: number | null;
}

/** Every access to some memory, word by word. */
export interface Trace {
  readonly words: readonly Word[];
  readonly run_ns: number;
  /** Accesses closer than this are one pass. */
  readonly gap_ns: number;
}

type Reference = (trace: Trace) => Truth | null;

const WORD_BYTES = 8;
/** Where the quantile lies on a step, both sides of it are true. */
const TIE = 0.001;

const isRead = (op: number): boolean => op === OP.load || op === OP.load_store;
const isWrite = (op: number): boolean => op === OP.store || op === OP.load_store;
const exactly = (value: number): Truth => ({ lo: value, hi: value });
const share = (part: number, all: number): Truth | null => (all > 0 ? exactly(part / all) : null);
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** A pass: numbers of the first hit and the one behind the last. */
function passesOf({ hits }: Word, gap_ns: number): (readonly [from: number, end: number])[] {
  const starts = hits.flatMap(([time], i) => (i === 0 || time - (hits[i - 1]?.[0] ?? 0) >= gap_ns ? [i] : []));
  return starts.map((from, k) => [from, starts[k + 1] ?? hits.length]);
}

/** Passes over all words of which a hit is of a kind. */
function passes({ words, gap_ns }: Trace, kind: (op: number) => boolean): number {
  return sum(
    words.map(
      (word) => passesOf(word, gap_ns).filter((pass) => word.hits.slice(...pass).some(([, op]) => kind(op))).length,
    ),
  );
}

/** The least of the values up to which the share q of them is reached; those without an end are Infinity. */
function quantile(values: readonly number[], q: number): Truth | null {
  if (!values.some(Number.isFinite)) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const least = (p: number): number =>
    sorted[Math.max(1, Math.ceil(p * sorted.length)) - 1] ?? Number.POSITIVE_INFINITY;
  return { lo: least(q - TIE), hi: least(q + TIE) };
}

const rate =
  (kind: (op: number) => boolean): Reference =>
  (trace) =>
    exactly((WORD_BYTES * passes(trace, kind)) / (trace.run_ns / 1e9));

/** t(next pass over b) - t(p). Before a free there is none: the definition leaves open whether that is longer than any. */
const interval =
  (q: number): Reference =>
  ({ words, gap_ns }) => {
    const times = (last: (word: Word) => number[]): number[] =>
      words.flatMap((word) => {
        const begins = passesOf(word, gap_ns).map(([from]) => word.hits[from]?.[0] ?? 0);
        return begins.flatMap((begin, k) => (k + 1 < begins.length ? [(begins[k + 1] ?? 0) - begin] : last(word)));
      });
    const least = quantile(
      times(({ freed_ns }) => (freed_ns === null ? [Number.POSITIVE_INFINITY] : [])),
      q,
    );
    const most = quantile(
      times(() => [Number.POSITIVE_INFINITY]),
      q,
    );
    return least === null || most === null ? null : { lo: least.lo, hi: most.hi };
  };

/** From the last write of a write pass to the last read before the first write of the next one; an instruction reads before it writes. */
const retention =
  (q: number): Reference =>
  ({ words, gap_ns }) => {
    const times = words.flatMap((word) => {
      const { hits, freed_ns } = word;
      const writes = passesOf(word, gap_ns)
        .map(([from, end]) => hits.flatMap(([, op], i) => (i >= from && i < end && isWrite(op) ? [i] : [])))
        .filter((inPass) => inPass.length > 0);
      return writes.map((inPass, k) => {
        const written = inPass.at(-1) ?? 0;
        const next = writes[k + 1]?.[0];
        if (next === undefined && freed_ns === null) return Number.POSITIVE_INFINITY;
        const reads = hits.slice(written + 1, (next ?? hits.length) + 1).filter(([, op]) => isRead(op));
        return Math.max(0, (reads.at(-1)?.[0] ?? 0) - (hits[written]?.[0] ?? 0));
      });
    });
    return quantile(times, q);
  };

/** From the last write to the first read of each pass that reads; what was there before the trace is older than any. */
const ageAtRead =
  (q: number): Reference =>
  ({ words, gap_ns }) => {
    const times = words.flatMap((word) =>
      passesOf(word, gap_ns).flatMap(([from, end]) => {
        const read = word.hits.findIndex(([, op], i) => i >= from && i < end && isRead(op));
        if (read < 0) return [];
        const write = word.hits.findLastIndex(([, op], i) => i < read && isWrite(op));
        return write < 0 ? [Number.POSITIVE_INFINITY] : [(word.hits[read]?.[0] ?? 0) - (word.hits[write]?.[0] ?? 0)];
      }),
    );
    return quantile(times, q);
  };

/** The moments t with a hit in [t, t + window], of those whose window lies in the run: what the windows before the hits cover together. */
const workingSet: Reference = ({ words, run_ns }) => {
  const window = 100e6;
  const covered = words.map(({ hits }) =>
    sum(
      hits.map(([time], i) => {
        const from = Math.max(0, time - window, hits[i - 1]?.[0] ?? 0);
        return Math.max(0, Math.min(time, run_ns - window) - from);
      }),
    ),
  );
  return exactly((WORD_BYTES * sum(covered)) / (run_ns - window));
};

const epochs = ({ words, gap_ns }: Trace): number[] =>
  words.map((word) => passes({ words: [word], run_ns: 0, gap_ns }, isWrite));

/** By metric. */
export const REFERENCES: Readonly<Record<string, Reference>> = {
  read_bytes_per_s: rate(isRead),
  write_bytes_per_s: rate(isWrite),
  reads_per_write: (trace) => share(passes(trace, isRead), passes(trace, isWrite)),
  hits_per_pass: (trace) =>
    share(
      sum(trace.words.map(({ hits }) => hits.length)),
      passes(trace, () => true),
    ),
  iai_p50_ns: interval(0.5),
  iai_p90_ns: interval(0.9),
  iai_p99_ns: interval(0.99),
  retention_p50_ns: retention(0.5),
  retention_p90_ns: retention(0.9),
  retention_p99_ns: retention(0.99),
  age_at_read_p50_ns: ageAtRead(0.5),
  age_at_read_p99_ns: ageAtRead(0.99),
  working_set_bytes: workingSet,
  write_once_ratio: (trace) => {
    const written = epochs(trace).filter((n) => n > 0);
    return share(written.filter((n) => n === 1).length, written.length);
  },
};

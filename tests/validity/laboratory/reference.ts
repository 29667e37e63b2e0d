/** The formulas of docs/metrics.md as code: each watched figure from a complete trace, as plainly as it is defined, however slow. */
import { OP } from "../../../src/schema/operation.ts";
import type { Truth } from "../../../src/simulate/true-quantiles.ts";

/** Accesses of one word in order of time: ns since the start, and values of OP. */
export interface Word {
  readonly hits: readonly (readonly [time_ns: number, op: number])[];
  /** When its bytes came into being; 0 where they were there before. */
  readonly born_ns: number;
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
const isAny = (): boolean => true;
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

/** From its begin to its end, ns. */
type Piece = readonly [begin_ns: number, end_ns: number];

/** The moments t with a hit in [t, t + window], of those whose window lies in a piece: what the windows before the hits cover together. */
const touchedIn = ({ words }: Trace, window: number, [begin, end]: Piece): number =>
  sum(
    words.flatMap(({ hits }) =>
      hits.map(([time], i) => {
        const from = Math.max(begin, time - window, hits[i - 1]?.[0] ?? 0);
        return Math.max(0, Math.min(time, end - window) - from);
      }),
    ),
  );

const workingSet: Reference = (trace) => {
  const window = 100e6;
  return exactly((WORD_BYTES * touchedIn(trace, window, [0, trace.run_ns])) / (trace.run_ns - window));
};

/** The x that is left or less in the share q of the moments, of times that run down to 0 in stretches and are 0 for some time. */
function leftAt(stretches: readonly number[], zero: number, all: number, q: number): Truth | null {
  if (!(all > 0)) return null;
  const share = (x: number): number => (zero + sum(stretches.map((length) => Math.min(x, length)))) / all;
  const least = (p: number): number => {
    if (share(0) >= p) return 0;
    const first = stretches.toSorted((a, b) => a - b).find((length) => share(length) >= p);
    if (first === undefined) return Number.POSITIVE_INFINITY;
    // Up to there the share grows by the stretches that are no shorter.
    return first - ((share(first) - p) * all) / stretches.filter((length) => length >= first).length;
  };
  return { lo: least(q - TIE), hi: least(q + TIE) };
}

const lived = ({ words, run_ns }: Trace): number =>
  sum(words.map(({ born_ns, freed_ns }) => (freed_ns ?? run_ns) - born_ns));

/** From each moment to the begin of the next pass. */
const nextUse =
  (q: number): Reference =>
  (trace) => {
    const stretches = trace.words.flatMap((word) => {
      const begins = passesOf(word, trace.gap_ns).map(([from]) => word.hits[from]?.[0] ?? 0);
      return begins.map((begin, k) => begin - (begins[k - 1] ?? word.born_ns));
    });
    return leftAt(stretches, 0, lived(trace), q);
  };

/** From each moment to the last read before the next write or the free. */
const stillNeeded =
  (q: number): Reference =>
  (trace) => {
    const pieces = trace.words.flatMap(({ hits, born_ns, freed_ns }) => {
      const ends = hits.filter(([, op]) => isWrite(op)).map(([time]) => time);
      if (freed_ns !== null) ends.push(freed_ns);
      return ends.map((end, k) => {
        const begin = ends[k - 1] ?? born_ns;
        const read = hits.findLast(([time, op]) => isRead(op) && time > begin && time <= end)?.[0] ?? begin;
        return { needed: read - begin, unneeded: end - read };
      });
    });
    const unneeded = sum(pieces.map((piece) => piece.unneeded));
    return leftAt(
      pieces.map(({ needed }) => needed),
      unneeded,
      lived(trace),
      q,
    );
  };

const epochs = ({ words, gap_ns }: Trace): number[] =>
  words.map((word) => passes({ words: [word], run_ns: 0, gap_ns }, isWrite));

/** By metric. */
export const REFERENCES: Readonly<Record<string, Reference>> = {
  read_bytes_per_s: rate(isRead),
  write_bytes_per_s: rate(isWrite),
  reads_per_write: (trace) => share(passes(trace, isRead), passes(trace, isWrite)),
  hits_per_pass: (trace) => share(sum(trace.words.map(({ hits }) => hits.length)), passes(trace, isAny)),
  iai_p50_ns: interval(0.5),
  iai_p90_ns: interval(0.9),
  iai_p99_ns: interval(0.99),
  retention_p50_ns: retention(0.5),
  retention_p90_ns: retention(0.9),
  retention_p99_ns: retention(0.99),
  next_use_p50_ns: nextUse(0.5),
  next_use_p90_ns: nextUse(0.9),
  still_needed_p50_ns: stillNeeded(0.5),
  still_needed_p90_ns: stillNeeded(0.9),
  age_at_read_p50_ns: ageAtRead(0.5),
  age_at_read_p99_ns: ageAtRead(0.99),
  working_set_bytes: workingSet,
  write_once_ratio: (trace) => {
    const written = epochs(trace).filter((n) => n > 0);
    return share(written.filter((n) => n === 1).length, written.length);
  },
};

/** Steps of one kind: their pieces of time, the tokens that they decode, and the time in which one goes over its data. */
export interface Steps {
  readonly pieces: readonly Piece[];
  readonly tokens: number;
  readonly turn_ns: number;
}

type StepReference = (trace: Trace, steps: Steps) => Truth | null;

/** Passes that begin in a step, for each byte and token. */
const perToken =
  (kind: (op: number) => boolean): StepReference =>
  (trace, { pieces, tokens }) => {
    const begun = trace.words.flatMap((word) =>
      passesOf(word, trace.gap_ns).filter(([from, end]) => {
        const begin = word.hits[from]?.[0] ?? 0;
        const isOf = word.hits.slice(from, end).some(([, op]) => kind(op));
        return isOf && pieces.some(([first, last]) => begin >= first && begin < last);
      }),
    );
    // As many words as are there in the mean of the moments of the steps.
    const all_ns = sum(pieces.map(([first, last]) => last - first));
    const there = (born: number, freed: number): number =>
      sum(pieces.map(([first, last]) => Math.max(0, Math.min(last, freed) - Math.max(first, born)))) / all_ns;
    const words = sum(trace.words.map(({ born_ns, freed_ns }) => there(born_ns, freed_ns ?? Number.POSITIVE_INFINITY)));
    return share(begun.length, words * tokens);
  };

/** By metric, of the prefill or decode steps. */
export const STEP_REFERENCES: Readonly<Record<string, StepReference>> = {
  reads_per_byte_per_token: perToken(isRead),
  writes_per_byte_per_token: perToken(isWrite),
  working_set_bytes: (trace, { pieces, turn_ns }) => {
    const window = 2 * turn_ns;
    const long = pieces.filter(([begin, end]) => end - begin > window);
    const touched = sum(long.map((piece) => touchedIn(trace, window, piece)));
    return share(WORD_BYTES * touched, sum(long.map(([begin, end]) => end - begin - window)));
  },
};

/** What a benchmark says, and the small arithmetic that all of them need. */

/** One figure and, where there is one, what it is held against. */
export interface BenchRow {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** Null for a figure that explains another one. */
  readonly target: number | null;
  /** How many times better than the target: above 1 is reached; null without a target, and for a cost lost in noise. */
  readonly ratio: number | null;
  /** How it came about: interval, counts, what else was busy. */
  readonly note?: string;
}

export interface BenchOptions {
  /** Paired blocks, where a benchmark compares arms. */
  readonly blocks: number;
  /** Small sizes, to see that everything works; the figures then mean little. */
  readonly quick: boolean;
}

/** A figure that should be at most its target. */
export function atMost(what: string, value: number, unit: string, target: number, note?: string): BenchRow {
  // A difference of two noisy figures can come out below zero; how many times better that is nobody can say.
  return {
    what,
    value,
    unit,
    target,
    ratio: value > 0 ? target / value : null,
    ...(note === undefined ? {} : { note }),
  };
}

/** A figure that should be at least its target. */
export function atLeast(what: string, value: number, unit: string, target: number, note?: string): BenchRow {
  return { what, value, unit, target, ratio: value / target, ...(note === undefined ? {} : { note }) };
}

/** A figure without a target. */
export function aside(what: string, value: number, unit: string, note?: string): BenchRow {
  return { what, value, unit, target: null, ratio: null, ...(note === undefined ? {} : { note }) };
}

/** Middle of the values, the mean of the two middle ones for an even number; NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? Number.NaN)) / 2;
}

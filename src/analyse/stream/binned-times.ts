/** Distributions of any number of values in bounded memory: exact while they are few, then in bins of 0.4 %. */

/** Groups of observations between which an estimate varies as it would between runs like this one. */
export const GROUPS = 64;
/** Up to so many observations are kept as they are. */
export const FEW = 1 << 12;
/** Bins per octave as a power of two: of the whole, and of each group, which only tells the variance. */
export const FINE_BITS = 8;
export const COARSE_BITS = 2;
const OCTAVES = 63;
const FINE = OCTAVES * 2 ** FINE_BITS + 1;
export const COARSE = OCTAVES * 2 ** COARSE_BITS + 1;
/** Position of 1.0's exponent, with the mantissa bits of a bin, in the high word of a double. */
const ONE = 0x3ff00000 >>> (20 - FINE_BITS);
/** Binary digits of a double's mantissa in its high word. */
const HIGH_MANTISSA = 20;

/** Weights by bin: what ended there, and what was censored there. */
export interface Bins {
  readonly event: Float64Array;
  readonly censored: Float64Array;
}

export interface BinnedTimes {
  n: number;
  n_censored: number;
  readonly fine: Bins;
  /** Bin by bin, GROUPS of them each. */
  readonly group_event: Float64Array;
  readonly group_censored: Float64Array;
  /** The first FEW observations as they came. */
  readonly value: Float64Array;
  readonly weight: Float64Array;
  readonly complete: Uint8Array;
}

const word = new Float64Array(1);
const halves = new Uint32Array(word.buffer);

/** An empty distribution. */
export function binnedTimes(): BinnedTimes {
  return {
    n: 0,
    n_censored: 0,
    fine: { event: new Float64Array(FINE), censored: new Float64Array(FINE) },
    group_event: new Float64Array(GROUPS * COARSE),
    group_censored: new Float64Array(GROUPS * COARSE),
    value: new Float64Array(FEW),
    weight: new Float64Array(FEW),
    complete: new Uint8Array(FEW),
  };
}

/** The bin of a value of 0 or more, below 2^63. */
export function binOf(value: number): number {
  if (value < 1) return 0;
  word[0] = value;
  return 1 + ((halves[1] as number) >>> (HIGH_MANTISSA - FINE_BITS)) - ONE;
}

/**
 * Adds one observation.
 * @param bin binOf(value)
 * @param weight above 0
 * @param group in [0, GROUPS)
 * @param complete false where the value is only a lower end
 */
export function addTime(
  target: BinnedTimes,
  value: number,
  bin: number,
  weight: number,
  group: number,
  complete: boolean,
): void {
  const coarse = bin === 0 ? 0 : 1 + ((bin - 1) >>> (FINE_BITS - COARSE_BITS));
  const place = coarse * GROUPS + group;
  const { fine } = target;
  if (complete) {
    fine.event[bin] = (fine.event[bin] as number) + weight;
    target.group_event[place] = (target.group_event[place] as number) + weight;
  } else {
    fine.censored[bin] = (fine.censored[bin] as number) + weight;
    target.group_censored[place] = (target.group_censored[place] as number) + weight;
    target.n_censored += 1;
  }
  if (target.n < FEW) {
    target.value[target.n] = value;
    target.weight[target.n] = weight;
    target.complete[target.n] = complete ? 1 : 0;
  }
  target.n += 1;
}

/** Puts the groups 2k and 2k + 1 together as group k; the upper half is empty then. */
export function foldGroups(times: BinnedTimes): void {
  for (const sums of [times.group_event, times.group_censored]) foldRows(sums);
}

/** The same for sums of GROUPS entries each. */
export function foldRows(sums: Float64Array): void {
  for (let from = 0; from < sums.length; from += GROUPS) {
    for (let g = 0; g < GROUPS / 2; g++) sums[from + g] = (sums[from + 2 * g] ?? 0) + (sums[from + 2 * g + 1] ?? 0);
    sums.fill(0, from + GROUPS / 2, from + GROUPS);
  }
}

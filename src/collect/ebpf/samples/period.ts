/** Periods of a sampled event: primes that vary, so that no loop falls into step, at a rate that the budget allows. */
import type { Random } from "../../../statistics/prng.ts";

/** A share of the period by which it is varied, up and down. */
const DITHER = 0.1;
/** A period changes by no more than this factor at a time. */
const MOST_CHANGE = 4;
/** Shorter periods would sample neighbours of one another, and reach the kernel's limit within a tick. */
const LEAST_PERIOD = 1009;
const MOST_PERIOD = 100_000_007;
/** Rates within this factor below the wanted one are left as they are. */
const SLACK = 2;

/** Samples of a CPU between two of its periods. */
const SAMPLES_PER_PERIOD = 64;

function isPrime(n: number): boolean {
  if (n < 4) return n > 1;
  if (n % 2 === 0 || n % 3 === 0) return false;
  for (let d = 5; d * d <= n; d += 6) if (n % d === 0 || n % (d + 2) === 0) return false;
  return true;
}

/** The least prime from n on. */
export function nextPrime(n: number): number {
  let candidate = Math.max(2, Math.ceil(n));
  while (!isPrime(candidate)) candidate += 1;
  return candidate;
}

/**
 * A period within a tenth of the middle one, drawn evenly: a prime, or `step` times a prime where the hardware counts in
 * steps.
 */
export function ditheredPeriod(middle: number, step: number, random: Random): number {
  const wanted = middle * (1 - DITHER + 2 * DITHER * random());
  return step * nextPrime(wanted / step);
}

/**
 * The middle of the periods to come, from what the last second gave on the CPU that sampled most.
 * @param perSecond samples per second at the middle `now`
 * @param wantedPerSecond what the budget allows
 */
export function adaptedPeriod(now: number, perSecond: number, wantedPerSecond: number): number {
  // Too much is corrected at once; too little only where it is much too little, so that rates do not swing.
  if (perSecond <= wantedPerSecond && perSecond * SLACK >= wantedPerSecond) return now;
  const change = Math.min(Math.max(perSecond / wantedPerSecond, 1 / MOST_CHANGE), MOST_CHANGE);
  return Math.min(Math.max(now * change, LEAST_PERIOD), MOST_PERIOD);
}

/**
 * Whether a CPU gets a new period. The kernel then forgets what it counted towards the next sample, half a period on
 * average: a CPU that hardly accesses anything would lose much of the little that it has.
 * @param samples of the CPU since its last new period
 * @param changed whether the middle of the periods did
 */
export function isDue(samples: number, changed: boolean): boolean {
  return changed || samples >= SAMPLES_PER_PERIOD;
}

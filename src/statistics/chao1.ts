/** How many classes there are, from how many were seen once and twice. */
import { CI_Z, type Interval, interval } from "./interval.ts";

/**
 * Chao1 with its log-normal interval (Chao, Biometrics 43, 1987; forms as in SpadeR): asymptotically exact when all
 * classes are equally likely, a lower bound when they are not.
 * @param distinct classes seen
 * @param once classes seen exactly once
 * @param twice classes seen exactly twice
 * @param n samples
 * @returns the number of classes, never below `distinct`; no value without samples
 */
export function chao1(distinct: number, once: number, twice: number, n: number): Interval {
  if (!(n > 0) || !(distinct > 0)) return interval(null, null, null);
  const a = (n - 1) / n;
  const unseen = twice > 0 ? (a * once * once) / (2 * twice) : (a * once * (once - 1)) / 2;
  if (unseen <= 0) return interval(distinct, distinct, distinct);
  let variance: number;
  if (twice > 0) {
    const r = once / twice;
    variance = twice * ((a * r * r) / 2 + a * a * r ** 3 + (a * a * r ** 4) / 4);
  } else {
    const total = distinct + unseen;
    variance =
      (a * once * (once - 1)) / 2 + (a * a * once * (2 * once - 1) ** 2) / 4 - (a * a * once ** 4) / (4 * total);
  }
  const k = Math.exp(CI_Z * Math.sqrt(Math.log1p(Math.max(0, variance) / (unseen * unseen))));
  return interval(distinct + unseen, distinct + unseen / k, distinct + unseen * k);
}

/** Good's coverage 1 - f1 / n: the share of accesses that fall on classes already seen; null without samples. */
export function goodCoverage(once: number, n: number): number | null {
  return n > 0 ? Math.max(0, 1 - once / n) : null;
}

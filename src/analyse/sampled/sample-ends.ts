/**
 * How far the ends of a sum of periods must reach, beside what its blocks of time tell by how they differ. A counter that begins or
 * ends anywhere within a period leaves one sample more or less, though all blocks were alike; and samples that were lost may all have been of one class.
 */
import { type Interval, interval } from "../../statistics/interval.ts";
import type { KindSums } from "./shadow.ts";

/** One sample over the sum, and how many times the sum there may be with what was lost. */
function reach({ rows }: KindSums, lost: number): { readonly one: number; readonly most: number } {
  return rows > 0 ? { one: 1 / rows, most: 1 + lost / rows } : { one: 0, most: 1 };
}

/** @param estimate of what is in proportion to the sum */
export function endsOfSum({ value, lo, hi }: Interval, samples: KindSums, lost: number): Interval {
  if (value === null) return interval(value, lo, hi);
  const { one, most } = reach(samples, lost);
  return interval(
    value,
    lo === null ? null : Math.min(lo, value * (1 - one)),
    hi === null ? null : Math.max(hi, value * (1 + one)) * most,
  );
}

/** The same of the quotient of two sums. */
export function endsOfQuotient({ value, lo, hi }: Interval, top: KindSums, bottom: KindSums, lost: number): Interval {
  if (value === null) return interval(value, lo, hi);
  const [above, below] = [reach(top, lost), reach(bottom, lost)];
  return interval(
    value,
    lo === null ? null : Math.min(lo, (value * (1 - above.one)) / (1 + below.one)) / below.most,
    hi === null ? null : Math.max(hi, (value * (1 + above.one)) / (1 - below.one)) * above.most,
  );
}

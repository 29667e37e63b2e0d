/**
 * How far the ends of a sum of periods must reach, beside what its blocks of time tell by how they differ. A counter that begins or
 * ends anywhere within a period leaves one sample more or less, though all blocks were alike; samples that were lost may all have been of one class;
 * and where hardly as many were taken as are told there may be that many by luck alone.
 */
import { type Interval, interval } from "../../statistics/interval.ts";
import { toldShare } from "../../statistics/told-mean.ts";
import { FEWEST } from "../figures/figure-row.ts";
import type { KindSums } from "./shadow.ts";

interface Reach {
  /** One sample over the sum. */
  readonly one: number;
  /** How many times the sum there may be with what was lost. */
  readonly most: number;
  /** What share of its lower end there may be, as fewer samples would not have been told. */
  readonly luck: number;
}

function reach({ rows }: KindSums, lost: number): Reach {
  return rows > 0
    ? { one: 1 / rows, most: 1 + lost / rows, luck: toldShare(rows, FEWEST) }
    : { one: 0, most: 1, luck: 1 };
}

/** @param estimate of what is in proportion to the sum */
export function endsOfSum({ value, lo, hi }: Interval, samples: KindSums, lost: number): Interval {
  if (value === null) return interval(value, lo, hi);
  const { one, most, luck } = reach(samples, lost);
  return interval(
    value,
    lo === null ? null : Math.min(lo, value * (1 - one)) * luck,
    hi === null ? null : Math.max(hi, value * (1 + one)) * most,
  );
}

/** The same of the quotient of two sums. */
export function endsOfQuotient({ value, lo, hi }: Interval, top: KindSums, bottom: KindSums, lost: number): Interval {
  if (value === null) return interval(value, lo, hi);
  const [above, below] = [reach(top, lost), reach(bottom, lost)];
  return interval(
    value,
    lo === null ? null : (Math.min(lo, (value * (1 - above.one)) / (1 + below.one)) * above.luck) / below.most,
    hi === null ? null : (Math.max(hi, (value * (1 + above.one)) / (1 - below.one)) * above.most) / below.luck,
  );
}

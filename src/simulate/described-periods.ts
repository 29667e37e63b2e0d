/** The periods of a described work: when its uses, its tokens and its blocks begin. */
import type { Random } from "../statistics/prng.ts";

/** True while the work goes on. */
export type IsBusy = (timeNs: number) => boolean;

export type Period = readonly [begin_ns: number, end_ns: number];

/** A time that may end at any moment, as likely at one as at another; 1 in the mean. */
export const exponential = (random: Random): number => -Math.log(1 - random());

/**
 * Periods over a time; none that begins while the work rests.
 * @param first when the first of them begins: drawn where it is absent
 */
export function periodsOf(
  periodNs: number,
  uneven: number,
  [from, until]: Period,
  isBusy: IsBusy,
  random: Random,
  first: number = from - random() * periodNs,
): Period[] {
  const periods: Period[] = [];
  for (let begin = first; begin < until; ) {
    const end = begin + periodNs * (1 + uneven * (2 * random() - 1));
    if (isBusy(begin)) periods.push([begin, end]);
    begin = end;
  }
  return periods;
}

/** Moments over a time, however far apart: each comes whenever the others do (Poisson). None while the work rests. */
export function momentsOf(apartNs: number, [from, until]: Period, isBusy: IsBusy, random: Random): Period[] {
  const moments: Period[] = [];
  for (let moment = from + apartNs * exponential(random); moment < until; ) {
    if (isBusy(moment)) moments.push([moment, moment]);
    moment += apartNs * exponential(random);
  }
  return moments;
}

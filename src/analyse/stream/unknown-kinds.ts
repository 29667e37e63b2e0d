/** Accesses of a trace of which nobody knows whether they read or wrote. */
import { type Interval, interval } from "../../statistics/interval.ts";
import type { Group } from "../input/group.ts";
import type { AccessSums } from "../input/input.ts";
import { MOST_UNKNOWN } from "../watched/rate/pass-rate.ts";
import { IMPORT } from "./stream-figures.ts";

/** The accesses, weighted by period; 0 of a source whose samples all say it. */
export const unknownAccesses = ({ unknown }: AccessSums): number => unknown?.accesses ?? 0;

/** The rows of a class of a trace that holds every access, each one access. */
export const unknownRows = ({ sums }: Group): number =>
  sums.reduce((rows, { source, unknown }) => rows + (source === IMPORT ? (unknown?.rows ?? 0) : 0), 0);

/** Why so many of them leave no value; null where they are few. */
export function unknownReason({ unknown, rows }: AccessSums): string | null {
  const share = rows > 0 ? (unknown?.rows ?? 0) / rows : 0;
  return share > MOST_UNKNOWN ? `${Math.round(100 * share)} % of the accesses may have read or written` : null;
}

/** The same of the trace of a group. */
export function unknownReasonOf({ sums }: Group): string | null {
  const sum = sums.find(({ source }) => source === IMPORT);
  return sum === undefined ? null : unknownReason(sum);
}

/** What was counted, between the ends that it has if none of those of unknown kind is one of it, or all are. */
export function withUnknown({ value, lo, hi }: Interval, least: number, most: number): Interval {
  return interval(value, lo === null ? null : lo * least, hi === null ? null : hi + most);
}

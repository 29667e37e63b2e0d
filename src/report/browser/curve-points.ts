/** Curves as points to draw, and their axes as words. */
import { formatBytes, formatCount, formatIn, formatNs, YEAR_NS, yearScale } from "../../units.ts";
import type { CurveColumns } from "../page/data/page-data.ts";

export interface Point {
  readonly x: number;
  readonly x_end: number | null;
  readonly y: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly n: number;
  readonly n_censored: number;
  readonly name: string | null;
  readonly class: string;
}

/** The points of a curve that have a place. */
export function pointsOf(curve: CurveColumns): Point[] {
  return curve.x.flatMap((x, i) => {
    if (x === null) return [];
    const [low, high] = [curve.ci_low[i] ?? null, curve.ci_high[i] ?? null];
    return [
      {
        x,
        x_end: curve.x_end[i] ?? null,
        y: curve.y[i] ?? null,
        low,
        high,
        n: curve.n[i] ?? 0,
        n_censored: curve.n_censored[i] ?? 0,
        name: curve.name[i] ?? null,
        class: curve.class,
      },
    ];
  });
}

/** Neighbours among the points of a curve that have a value, or that are bounds. */
export interface Stretch {
  readonly isBound: boolean;
  readonly points: readonly Point[];
}

/**
 * The stretches of a curve, each as long as its kind lasts; where one ends the next begins, at the same point.
 * @param isLine true where neighbours are joined by a straight line: what leads to a bound or away from it is no value
 */
export function stretchesOf(points: readonly Point[], isLine: boolean): Stretch[] {
  const stretches: { readonly isBound: boolean; readonly points: Point[] }[] = [];
  let before: Point | null = null;
  for (const point of points) {
    if (before !== null) {
      const isBound = before.y === null || (isLine && point.y === null);
      const last = stretches.at(-1);
      if (last?.isBound === isBound) last.points.push(point);
      else stretches.push({ isBound, points: [before, point] });
    }
    before = point;
  }
  return stretches;
}

/** From here on a time is in days. */
const LONG_NS = 2 * 86_400e9;

/** A time, in days and years where it is that long. */
export function timeText(ns: number): string {
  if (ns < LONG_NS) return formatNs(ns);
  const scale = yearScale(ns / YEAR_NS);
  return formatIn(ns / YEAR_NS, scale) + scale.unit;
}

/** A value of an axis or a table, in its unit. */
export function valueText(value: number | null, unit: string): string {
  if (value === null) return "?";
  if (unit === "ns") return timeText(value);
  if (unit === "bytes") return formatBytes(value);
  if (unit === "bytes/s") return `${formatBytes(value)}/s`;
  if (unit === "ratio") return `${Number((100 * value).toPrecision(3))} %`;
  // What is counted stands beside the axis.
  return unit.endsWith("/s") ? `${formatCount(value)}/s` : formatCount(value);
}

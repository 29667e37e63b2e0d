/** Single points with their intervals: a dot each, or of a bound the end that is known, which points to where the figure may lie. */
import { dot, type Markish, ruleX } from "@observablehq/plot";
import type { Point } from "./curve-points.ts";

/** A point that goes on to the right: it was still there when nobody looked any more. */
const isCut = ({ n_censored }: Point): boolean => n_censored > 0;

/** @param spans points with both ends of their interval, cut at the foot @param foot of the axis: below it nothing can be drawn */
export function pointMarks(points: readonly Point[], spans: readonly Point[], stroke: string, foot: number): Markish[] {
  const base = { x: "x", stroke, strokeWidth: 1.5 };
  const whole = points.filter(({ y }) => y !== null);
  const bounds = points.filter(({ y }) => y === null);
  const fillOf = { fill: stroke, fillOpacity: (point: Point) => (isCut(point) ? 0 : 0.8) };
  return [
    // A line from the foot up would look like a border of the plot.
    ruleX(
      spans.filter(({ low }) => low !== null && low > foot),
      { ...base, y1: "low", y2: "high", strokeOpacity: 0.6 },
    ),
    dot(whole, { ...base, ...fillOf, y: "y", r: 3.5 }),
    dot(
      bounds.filter(({ low }) => low !== null && low > foot),
      { ...base, ...fillOf, y: "low", r: 3.5, symbol: "triangle" },
    ),
    dot(
      bounds.filter(({ high }) => high !== null && high > foot),
      { ...base, ...fillOf, y: "high", r: 3.5, symbol: "triangle", rotate: 180 },
    ),
  ];
}

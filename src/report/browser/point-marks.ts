/** Single points with their intervals: a dot each, or of a bound the end that is known, which points to where the figure may lie. */
import { dot, type Markish, ruleX } from "@observablehq/plot";
import type { Point } from "./curve-points.ts";

/**
 * Points at few places, each by itself: of a value its interval, of a bound a dashed line that is open where nothing is known.
 * @param dx beside those of other classes, in px
 * @param axis its ends: a figure that may lie at one of them is not known on that side
 */
export function fewPointMarks(
  points: readonly Point[],
  stroke: string,
  dx: number,
  [foot, top]: readonly [number, number],
): Markish[] {
  const base = { x: "x", stroke, strokeWidth: 1.5, dx };
  const ends = { y1: ({ low }: Point) => Math.max(foot, low ?? foot), y2: ({ high }: Point) => high ?? top };
  const [values, bounds] = [points.filter(({ y }) => y !== null), points.filter(({ y }) => y === null)];
  const corner = { ...base, fill: stroke, r: 3.5, symbol: "triangle" } as const;
  return [
    ruleX(
      values.filter(({ low, high }) => low !== null || high !== null),
      { ...base, ...ends },
    ),
    dot(values, { ...base, fill: stroke, y: "y", r: 3.5 }),
    ruleX(bounds, { ...base, ...ends, strokeDasharray: "2 3" }),
    dot(
      bounds.filter(({ low }) => low !== null && low > foot),
      { ...corner, y: "low" },
    ),
    dot(
      bounds.filter(({ high }) => high !== null && high < top),
      { ...corner, y: "high", rotate: 180 },
    ),
  ];
}

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

/** What a curve is before it is rows: its points, and the figure with which it agrees. */
import type { CurveName, CurveShape, MetricStatus } from "../../schema/words.ts";
import type { RegionFigures } from "../by-region/region-figures.ts";
import type { MetricRow } from "../figures/metric-row.ts";
import type { Group } from "../input/group.ts";
import { printedFigures } from "../metrics/registry.ts";

export interface CurvePoint {
  readonly x: number;
  /** End of a bin. */
  readonly x_end?: number;
  /** Null where only a bound is known. */
  readonly y: number | null;
  readonly lo: number | null;
  readonly hi: number | null;
  readonly n: number;
  /** Samples cut short from the point before up to x. */
  readonly n_censored?: number;
  /** Of a point that stands by itself. */
  readonly name?: string;
  /** Why this point is a bound. */
  readonly why?: string;
}

export interface Curve {
  readonly curve: CurveName;
  readonly shape: CurveShape;
  readonly source: string;
  readonly method: string;
  readonly status: MetricStatus;
  readonly why: string | null;
  readonly x_unit: string;
  readonly y_unit: string;
  /** In order of x; none where it cannot be drawn, and `why` says the reason. */
  readonly points: readonly CurvePoint[];
}

/** A kind of curve: of a group with its figures, and those of regions; null where it has no meaning for the group. */
export type CurveOf = (group: Group, rows: readonly MetricRow[], regions: readonly RegionFigures[]) => Curve | null;

/** What stands in every curve of a kind. */
export type CurveFrame = Pick<Curve, "curve" | "shape" | "x_unit" | "y_unit">;

const says = ({ status }: MetricRow): boolean => status === "ok" || status === "bound";

/** The row of a metric that a table prints: that of another one where the first says nothing and it does. */
export function printedRow(rows: readonly MetricRow[], ...metrics: readonly string[]): MetricRow | null {
  const printed = printedFigures(rows);
  const found = metrics.flatMap((metric) => printed.filter((row) => row.metric === metric));
  return found.find(says) ?? found[0] ?? null;
}

/**
 * The curve of the source and with the status of a figure: where that is held back the curve is too, for the same reason.
 * @param pointsOf the points by source, or why there are none
 */
export function curveOfFigure(
  frame: CurveFrame,
  row: MetricRow | null,
  pointsOf: (source: string) => readonly CurvePoint[] | string,
): Curve | null {
  if (row === null) return null;
  const { source, method, status, why } = row;
  const base = { ...frame, source, method, status, why };
  if (!says(row)) return { ...base, points: [] };
  const points = pointsOf(source);
  // Watches can tell any curve, where there are enough of them.
  const silent = source === "watch" ? "insufficient" : "not_identifiable";
  if (typeof points === "string") return { ...base, status: silent, why: points, points: [] };
  return points.length > 0 ? { ...base, points } : { ...base, status: "insufficient", why: "nothing to draw", points };
}

/** THE list of curves; each says of a group what can be drawn of it, or why nothing can. */
import type { RowOf } from "../../schema/row.ts";
import { CI_LEVEL } from "../../statistics/interval.ts";
import type { RegionFigures } from "../by-region/region-figures.ts";
import type { MetricRow } from "../figures/metric-row.ts";
import type { Group } from "../input/group.ts";
import { workedOver } from "../input/worked-over.ts";
import type { Curve, CurveOf, CurvePoint } from "./curve.ts";
import { readRateCurve, writeRateCurve } from "./rates.ts";
import { readsPerWriteCurve } from "./reads-per-write.ts";
import { settleCurve } from "./settle.ts";
import { runLengthCurve, strideCurve } from "./stride.ts";
import { readRateByLifetimeCurve } from "./tensor-lives.ts";
import { ageCurve, intervalCurve, retentionCurve } from "./times.ts";
import { workingSetCurve } from "./working-set.ts";
import { writeOnceCurve } from "./write-once.ts";

/** In the order of their figures. */
export const CURVES: readonly CurveOf[] = [
  retentionCurve,
  intervalCurve,
  workingSetCurve,
  writeOnceCurve,
  readRateCurve,
  writeRateCurve,
  strideCurve,
  runLengthCurve,
  ageCurve,
  readsPerWriteCurve,
  settleCurve,
  readRateByLifetimeCurve,
];

const NO_POINT = { x: null, y: null, lo: null, hi: null, n: 0 };

const whole = (count: number): bigint => BigInt(Math.max(0, Math.round(count)));

/** What says of which class and span a curve is. */
type Place = Pick<RowOf<"curves">, "region_type" | "mapping_kind" | "phase" | "step">;

function rowOf(place: Place, curve: Curve, point: CurvePoint | typeof NO_POINT): RowOf<"curves"> {
  const { points: _, ...facts } = curve;
  const { x, y, lo, hi, n, ...rest }: Omit<Partial<CurvePoint>, "x"> & { x: number | null } = point;
  return {
    ...facts,
    ...place,
    status: rest.why === undefined ? curve.status : "bound",
    why: rest.why ?? curve.why,
    name: rest.name ?? null,
    x,
    x_end: rest.x_end ?? null,
    y: y ?? null,
    ci_low: lo ?? null,
    ci_high: hi ?? null,
    ci_level: (lo ?? null) === null && (hi ?? null) === null ? null : CI_LEVEL,
    n: whole(n ?? 0),
    n_censored: whole(rest.n_censored ?? 0),
  };
}

/**
 * The rows of all curves of a group.
 * @param regions figures of single regions, of every class
 * @param rows figures of the group: a curve is held back where its figure is, for the same reason
 */
export function curveRows(
  group: Group,
  rows: readonly MetricRow[],
  regions: readonly RegionFigures[],
): RowOf<"curves">[] {
  const { region_type, mapping_kind, span } = group;
  if (region_type === "all" || group.is_counted_only || group.allocations !== null) return [];
  const place = { region_type, mapping_kind, phase: span.phase, step: span.step };
  return CURVES.flatMap((curveOf) => {
    const curve = curveOf(group, rows, regions);
    if (curve === null) return [];
    workedOver();
    const points = curve.points.length > 0 ? curve.points : [NO_POINT];
    return points.map((point) => rowOf(place, curve, point));
  });
}

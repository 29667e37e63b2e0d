/** How often a byte of a region is read against how long the region lives: where it would lie among devices. */
import type { RegionFigures } from "../by-region/region-figures.ts";
import { type CurveOf, type CurvePoint, curveOfFigure, printedRow } from "./curve.ts";

const METRIC = "read_bytes_per_s";

function pointOf({ rows, mean_bytes, lifetime_ns, isCensored, tensor, name }: RegionFigures): CurvePoint[] {
  const row = printedRow(rows, METRIC);
  if (row === null || (row.status !== "ok" && row.status !== "bound") || !(mean_bytes > 0)) return [];
  // A rate is over all of the time: a byte is read so often while it is there.
  const perByte = (rate: number | null): number | null => (rate === null ? null : rate / mean_bytes);
  const reasons = [
    ...(row.why === null ? [] : [row.why]),
    ...(isCensored ? ["it was there before we looked, at the end, or at another address: it lived longer than x"] : []),
  ];
  return [
    {
      x: lifetime_ns,
      y: perByte(row.value),
      lo: perByte(row.lo),
      hi: perByte(row.hi),
      n: row.n,
      n_censored: isCensored ? 1 : 0,
      name: tensor ?? name ?? "",
      ...(reasons.length === 0 ? {} : { why: reasons.join("; ") }),
    },
  ];
}

/** The regions of a class on which enough watches fell, a point each. */
export const readRateByLifetimeCurve: CurveOf = (group, rows, regions) => {
  if (group.span.step !== "all") return null;
  const mine = regions.filter(
    ({ rows: [first] }) => first?.region_type === group.region_type && first.mapping_kind === group.mapping_kind,
  );
  return curveOfFigure(
    { curve: "read_rate_by_lifetime", shape: "points", x_unit: "ns", y_unit: "passes/byte/s" },
    printedRow(rows, METRIC),
    () => {
      const points = mine.flatMap(pointOf).sort((a, b) => a.x - b.x);
      return points.length > 0 ? points : "on no region of the class did 30 watches fall";
    },
  );
};

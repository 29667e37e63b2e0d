/** The curves and histograms of a run, for the page's plots. */
import { existsSync } from "node:fs";
import type { RowOf } from "../../../schema/row.ts";
import type { CurveColumns, Maybe } from "./page-data.ts";
import { rowsOf } from "./run-table.ts";

type Row = RowOf<"curves">;

const classOf = ({ region_type, mapping_kind }: Row): string =>
  region_type === "unknown" ? (mapping_kind ?? "unknown") : region_type;

/** What all points of a curve share. */
const keyOf = (row: Row): string =>
  [row.curve, row.shape, classOf(row), row.phase, row.step, row.source, row.method, row.x_unit, row.y_unit].join("\0");

/** The curve of its rows. @param origin_ns when the run began: times of a timeline are since then */
function curveOf(rows: readonly Row[], first: Row, origin_ns: bigint): CurveColumns {
  const isTimeline = first.shape === "timeline";
  const since = isTimeline ? Number(origin_ns) : 0;
  const later = (x: number | null): number | null => (x === null ? null : x - since);
  return {
    curve: first.curve,
    shape: first.shape,
    class: classOf(first),
    step: first.step === "all" ? first.phase : first.step,
    source: first.source,
    method: first.method,
    status: first.status,
    why: rows.map(({ why }) => why).find((why) => why !== null) ?? null,
    x_unit: isTimeline ? "ns" : first.x_unit,
    y_unit: first.y_unit,
    x: rows.map(({ x }) => later(x)),
    x_end: rows.map(({ x_end }) => later(x_end)),
    y: rows.map(({ y }) => y),
    ci_low: rows.map(({ ci_low }) => ci_low),
    ci_high: rows.map(({ ci_high }) => ci_high),
    n: rows.map(({ n }) => Number(n)),
    n_censored: rows.map(({ n_censored }) => Number(n_censored)),
    name: rows.map(({ name }) => name),
  };
}

/** Every curve of curves.parquet with its points in the order of the file. @throws as `rowsOf` */
export function readCurves(path: string, origin_ns: bigint): Maybe<readonly CurveColumns[]> {
  if (!existsSync(path)) return { why: "the run has no curves.parquet: derive it again with mrm-trace analyse" };
  const curves = Map.groupBy(rowsOf(path, "curves"), keyOf);
  return {
    data: [...curves.values()].flatMap((rows) => rows.slice(0, 1).map((first) => curveOf(rows, first, origin_ns))),
  };
}

/** The curves and histograms of a run, for the page's plots. */
import { existsSync } from "node:fs";
import type { DuckDBValue } from "@duckdb/node-api";
import { type Database, parquetScan } from "../../../sql/database.ts";
import type { CurveColumns, Maybe } from "./page-data.ts";

const text = (value: unknown): string => (typeof value === "string" ? value : "");

function numbers(list: DuckDBValue | undefined): (number | null)[] {
  if (list === null || typeof list !== "object" || !("items" in list)) return [];
  return list.items.map((item) => (item === null ? null : Number(item)));
}

function counts(list: DuckDBValue | undefined): number[] {
  return numbers(list).map((count) => count ?? 0);
}

function names(list: DuckDBValue | undefined): (string | null)[] {
  if (list === null || typeof list !== "object" || !("items" in list)) return [];
  return list.items.map((item) => (typeof item === "string" ? item : null));
}

/** Every curve of curves.parquet with its points in order of x; of a timeline since `origin_ns`. @throws what the SQL engine throws */
export async function readCurves(
  database: Database,
  path: string,
  origin_ns: bigint,
): Promise<Maybe<readonly CurveColumns[]>> {
  if (!existsSync(path)) return { why: "the run has no curves.parquet: derive it again with mrm-trace analyse" };
  const lists = ["x", "x_end", "y", "ci_low", "ci_high", "n", "n_censored", "name"].map(
    (column) => `list(${column} ORDER BY row) AS ${column}`,
  );
  const rows = await database.rows(
    `SELECT curve, shape, CASE WHEN region_type = 'unknown' THEN coalesce(mapping_kind, 'unknown') ELSE region_type END AS class,
       phase, step, source, method, min(status) AS status, min(why) AS why, x_unit, y_unit, ${lists.join(", ")}, min(row) AS first
     FROM (
       SELECT * REPLACE (x - since AS x, x_end - since AS x_end,
         CASE WHEN shape = 'timeline' THEN 'ns' ELSE x_unit END AS x_unit)
       FROM (SELECT *, row_number() OVER () AS row, CASE WHEN shape = 'timeline' THEN ${origin_ns}::DOUBLE ELSE 0 END AS since
         FROM ${parquetScan([path])})
     )
     GROUP BY ALL ORDER BY first`,
  );
  return {
    data: rows.map(
      (row): CurveColumns => ({
        curve: text(row.curve),
        shape: text(row.shape),
        class: text(row.class),
        step: row.step === "all" ? text(row.phase) : text(row.step),
        source: text(row.source),
        method: text(row.method),
        status: text(row.status),
        why: typeof row.why === "string" ? row.why : null,
        x_unit: text(row.x_unit),
        y_unit: text(row.y_unit),
        x: numbers(row.x),
        x_end: numbers(row.x_end),
        y: numbers(row.y),
        ci_low: numbers(row.ci_low),
        ci_high: numbers(row.ci_high),
        n: counts(row.n),
        n_censored: counts(row.n_censored),
        name: names(row.name),
      }),
    ),
  };
}

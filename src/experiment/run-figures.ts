/** The figures of a run that an experiment compares, from its metrics.parquet. */

import { runPaths } from "../run-directory/run-directory.ts";
import { type Database, parquetScan } from "../sql/database.ts";

export interface RunFigure {
  readonly metric: string;
  readonly region_type: string;
  readonly step: string;
  /** What observed it: the engine's steps, watches, samples. */
  readonly source: string;
  readonly grain_bytes: number | null;
  readonly value: number;
}

/**
 * The figures of a run that have a value, in the order of the file; those of one kind of mapping are left out.
 * @throws Error where the file cannot be read
 */
export async function readFigures(database: Database, runDir: string): Promise<RunFigure[]> {
  const rows = await database.rows(
    `SELECT metric, region_type, step, source, grain_bytes, value FROM ${parquetScan([runPaths(runDir).metrics_parquet])}
     WHERE status = 'ok' AND mapping_kind IS NULL AND value IS NOT NULL`,
  );
  return rows.map(({ metric, region_type, step, source, grain_bytes, value }) => ({
    metric: String(metric),
    region_type: String(region_type),
    step: String(step),
    source: String(source),
    grain_bytes: grain_bytes === null ? null : Number(grain_bytes),
    value: Number(value),
  }));
}

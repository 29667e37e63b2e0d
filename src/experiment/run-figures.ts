/** The figures of a run that an experiment compares, from its metrics.parquet. */

import { columnBatches } from "../columnar/arrow/parquet-batches.ts";
import { fewRows } from "../columnar/read/few-rows.ts";
import { rowsFromBatch } from "../columnar/rows.ts";
import { runPaths } from "../run-directory/run-directory.ts";

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
export function readFigures(runDir: string): RunFigure[] {
  const path = runPaths(runDir).metrics_parquet;
  const batches = fewRows(path, columnBatches(path, "metrics"), ({ rows }) => rows);
  return [...batches].flatMap(rowsFromBatch).flatMap((row): RunFigure[] => {
    const { metric, region_type, step, source, grain_bytes, value, status, mapping_kind } = row;
    if (status !== "ok" || mapping_kind !== null || value === null) return [];
    const grain = grain_bytes === null ? null : Number(grain_bytes);
    return [
      {
        metric,
        region_type: String(region_type),
        step: String(step),
        source: String(source),
        grain_bytes: grain,
        value,
      },
    ];
  });
}

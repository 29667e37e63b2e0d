/** Which files of a run directory hold a table. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { STREAMS, type StreamName } from "../schema/columns.ts";
import { runPaths } from "./run-directory.ts";
import { listSegments } from "./segment-files.ts";

const DERIVED = [
  "trace",
  "region_map",
  "kv_block_lifecycle",
  "request_figures",
  "sequence_figures",
  "process_timeline",
  "metrics",
  "region_metrics",
  "curves",
  "heat",
] as const;

/** Tables of a run: what is derived, and the streams below capture/. Columns and units: docs/columns.md. */
export type RunTable = StreamName | (typeof DERIVED)[number];
export const RUN_TABLES: readonly RunTable[] = [...DERIVED, ...STREAMS];

export const isStream = (name: RunTable): name is StreamName => STREAMS.some((stream) => stream === name);

/** The files of a table in order, whether they can be read or not. @throws MrmTraceError data_quality where a folder cannot be listed */
export function tableFiles(runDir: string, name: RunTable): string[] {
  if (isStream(name)) return listSegments(runDir, name).map(({ path }) => path);
  const paths = runPaths(runDir);
  // A run without a client of ours has none of the first, one without a KV cache none of the second.
  if (name === "request_figures" || name === "sequence_figures") return existsSync(paths[name]) ? [paths[name]] : [];
  if (name !== "trace") return [join(runDir, `${name}.parquet`)];
  if (!existsSync(paths.trace)) return [join(runDir, "trace.parquet")];
  const parts = readdirSync(paths.trace).filter((part) => /^part-\d+\.parquet$/.test(part));
  return parts.sort().map((part) => join(paths.trace, part));
}

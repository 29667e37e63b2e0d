/** A labelled trace in one Parquet file, as the Python package writes it. */
import { existsSync } from "node:fs";
import { MrmTraceError } from "../errors.ts";
import { reasonOf, refuseOtherMajor } from "./capture.ts";
import { type Database, parquetScan, quote } from "./database.ts";

export interface TraceFile {
  readonly path: string;
  /** Rows by the file's footer. */
  readonly rows: number;
  /** True where it tells threads apart. */
  readonly has_threads: boolean;
  /** True where it numbers regions. */
  readonly has_regions: boolean;
}

const NEEDED = ["timestamp_ns", "address", "op_type", "region_type"] as const;
const WHOLE = /^U?(TINY|SMALL|BIG)?INT(EGER)?$/;

function refused(path: string, why: string, cause?: unknown): MrmTraceError {
  return new MrmTraceError(
    "data_quality",
    `${path} cannot be read as a labelled trace: ${why}`,
    `it needs the columns ${NEEDED.join(", ")} of docs/columns.md, section trace`,
    { cause },
  );
}

/** Columns and rows of a trace. @throws MrmTraceError data_quality where it is no Parquet file, or lacks a column that is needed */
export async function openTraceFile(database: Database, path: string): Promise<TraceFile> {
  if (!existsSync(path)) throw refused(path, "there is no such file");
  const scan = parquetScan([path]);
  try {
    await refuseOtherMajor(database, path);
    const columns = new Map<string, string>();
    for (const row of await database.rows(`DESCRIBE SELECT * FROM ${scan}`)) {
      columns.set(String(row.column_name), String(row.column_type));
    }
    const missing = NEEDED.filter((name) => !columns.has(name));
    if (missing.length > 0) throw refused(path, `it has no column ${missing.join(", ")}`);
    for (const name of ["timestamp_ns", "address"]) {
      const type = columns.get(name) ?? "";
      if (!WHOLE.test(type)) throw refused(path, `column ${name} is ${type}, not a whole number`);
    }
    const counted = await database.rows(`SELECT num_rows FROM parquet_file_metadata(${quote(path)})`);
    return {
      path,
      rows: Number(counted[0]?.num_rows ?? 0),
      has_threads: WHOLE.test(columns.get("thread_id") ?? ""),
      has_regions: columns.has("region_id"),
    };
  } catch (error) {
    throw error instanceof MrmTraceError ? error : refused(path, reasonOf(error), error);
  }
}

/** Regions of each class by the trace's own numbering; empty where it has none. */
export async function countRegions(database: Database, file: TraceFile): Promise<ReadonlyMap<string, number>> {
  if (!file.has_regions) return new Map();
  const rows = await database.rows(
    `SELECT region_type, count(DISTINCT region_id) AS regions FROM ${parquetScan([file.path])} GROUP BY 1`,
  );
  return new Map(rows.map((row) => [String(row.region_type ?? "unknown"), Number(row.regions)]));
}

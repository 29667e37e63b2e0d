/** A labelled trace in one Parquet file, as the Python package writes it. */
import { existsSync } from "node:fs";
import type { FileFooter } from "../../columnar/read/footer.ts";
import { openParquetSource } from "../../columnar/read/parquet-file.ts";
import { assertRefusal } from "../../columnar/read/refusal.ts";
import { MOST_GROUP_ROWS } from "../../columnar/read/scan.ts";
import { MrmTraceError } from "../../errors.ts";
import { refuseOtherMajor } from "../../schema/refuse-version.ts";
import { SCHEMA_VERSION_KEY } from "../../schema/versions.ts";
import { type Database, parquetScan, quote, quotePath } from "../../sql/database.ts";
import { reasonOf } from "../capture/capture.ts";

export interface TraceFile {
  readonly path: string;
  /** Rows by the file's footer. */
  readonly rows: number;
  /** True where it tells threads apart. */
  readonly has_threads: boolean;
  /** True where it numbers regions. */
  readonly has_regions: boolean;
  /** True where the SQL engine is not needed to decode it. */
  readonly decodable: boolean;
}

const TEXTS = ["op_type", "region_type"] as const;
const NUMBERS = ["timestamp_ns", "address"] as const;
const NEEDED = [...NUMBERS, ...TEXTS] as const;
const WHOLE = /^U?(TINY|SMALL|BIG)?INT(EGER)?$/;

function refused(path: string, why: string, cause?: unknown): MrmTraceError {
  return new MrmTraceError(
    "data_quality",
    `${path} cannot be read as a labelled trace: ${why}`,
    `give a trace with the columns ${NEEDED.join(", ")} of docs/columns.md, section trace`,
    { cause },
  );
}

/** True where every column that is read is one of those that are decoded without the SQL engine. */
function isDecodable({ columns, groups }: FileFooter): boolean {
  const kindOf = new Map(columns.map(({ name, kind }) => [name, kind]));
  const isNumber = (name: string) => kindOf.get(name) === "i64" || kindOf.get(name) === "i32";
  return (
    kindOf.get("timestamp_ns") === "i64" &&
    kindOf.get("address") === "i64" &&
    TEXTS.every((name) => kindOf.get(name) === "text") &&
    ["thread_id", "region_id"].every((name) => !kindOf.has(name) || isNumber(name)) &&
    groups.every(({ rows }) => rows <= MOST_GROUP_ROWS)
  );
}

/** The footer of a file that is decoded without the SQL engine; null where it is of another kind, or broken. */
function decodableFooter(path: string): FileFooter | null {
  try {
    using source = openParquetSource(path);
    return isDecodable(source.footer) ? source.footer : null;
  } catch (error) {
    // The SQL engine reads more, and says what is wrong with what it cannot read.
    assertRefusal(error);
    return null;
  }
}

/** Columns and rows of a trace. @throws MrmTraceError data_quality where it is no Parquet file, or lacks a column that is needed */
export async function openTraceFile(database: () => Promise<Database>, path: string): Promise<TraceFile> {
  if (!existsSync(path)) throw refused(path, "there is no such file");
  const footer = decodableFooter(path);
  if (footer === null) return await describe(await database(), path);
  const { columns, rows, metadata } = footer;
  const version = metadata.get(SCHEMA_VERSION_KEY);
  if (version !== undefined) refuseOtherMajor(path, version);
  const has = (name: string) => columns.some((column) => column.name === name);
  return { path, rows, has_threads: has("thread_id"), has_regions: has("region_id"), decodable: true };
}

async function describe(database: Database, path: string): Promise<TraceFile> {
  const scan = parquetScan([path]);
  try {
    const versions = await database.rows(
      `SELECT decode(value) AS version FROM parquet_kv_metadata(${quotePath(path)}) WHERE decode(key) = ${quote(SCHEMA_VERSION_KEY)}`,
    );
    for (const { version } of versions) if (version !== null) refuseOtherMajor(path, String(version));
    const columns = new Map<string, string>();
    for (const row of await database.rows(`DESCRIBE SELECT * FROM ${scan}`)) {
      columns.set(String(row.column_name), String(row.column_type));
    }
    const missing = NEEDED.filter((name) => !columns.has(name));
    if (missing.length > 0) throw refused(path, `it has no column ${missing.join(", ")}`);
    for (const name of NUMBERS) {
      const type = columns.get(name) ?? "";
      if (!WHOLE.test(type)) throw refused(path, `column ${name} is ${type}, not a whole number`);
    }
    const counted = await database.rows(`SELECT num_rows FROM parquet_file_metadata(${quotePath(path)})`);
    return {
      path,
      rows: Number(counted[0]?.num_rows ?? 0),
      has_threads: WHOLE.test(columns.get("thread_id") ?? ""),
      has_regions: columns.has("region_id"),
      decodable: false,
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

/** The segments below capture/ that can be read; every one that cannot is counted and named, and never ends the run. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { listSegments } from "../columnar/segment-files.ts";
import { MrmTraceError } from "../errors.ts";
import { columnsOf, STREAMS, type StreamName } from "../schema/columns.ts";
import { PARQUET_SCHEMA_VERSION, SCHEMA_VERSION_KEY } from "../schema/versions.ts";
import { type Database, quote } from "./database.ts";
import { sqlType } from "./table-sql.ts";

export interface Segment {
  readonly path: string;
  /** Rows by the file's own footer. */
  readonly rows: number;
}

/** A segment that was left out. */
export interface SkippedSegment {
  readonly stream: StreamName;
  readonly path: string;
  readonly reason: string;
}

export interface Capture {
  readonly runDir: string;
  readonly segments: Readonly<Record<StreamName, Segment[]>>;
  /** Grows while the segments are read. */
  readonly skipped: SkippedSegment[];
}

/** First line of an error's text. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n")[0] ?? text;
}

/** Why the file does not have the columns of the stream; null when it has them all. */
async function mismatch(database: Database, stream: StreamName, path: string): Promise<string | null> {
  const found = new Map<string, string>();
  for (const row of await database.rows(`DESCRIBE SELECT * FROM read_parquet(${quote(path)})`)) {
    found.set(String(row.column_name), String(row.column_type));
  }
  for (const column of columnsOf(stream)) {
    const type = found.get(column.name);
    if (type === undefined) return `column ${column.name} is missing`;
    if (type !== sqlType(column)) return `column ${column.name} is ${type}, not ${sqlType(column)}`;
  }
  return null;
}

/** @throws MrmTraceError data_quality for a file of another major schema version */
export async function refuseOtherMajor(database: Database, path: string): Promise<void> {
  const rows = await database.rows(
    `SELECT decode(value) AS version FROM parquet_kv_metadata(${quote(path)}) WHERE decode(key) = ${quote(SCHEMA_VERSION_KEY)}`,
  );
  const version = rows[0]?.version;
  if (version === undefined || version === null) return;
  const major = (text: string) => text.split(".")[0];
  if (major(String(version)) === major(PARQUET_SCHEMA_VERSION)) return;
  throw new MrmTraceError(
    "data_quality",
    `${path} has schema version ${String(version)}, this program reads ${PARQUET_SCHEMA_VERSION}`,
    "analyse it with the version of mrm-trace that recorded it (see metadata.json)",
  );
}

async function checkSegment(database: Database, stream: StreamName, path: string): Promise<Segment | string> {
  try {
    await refuseOtherMajor(database, path);
    const wrong = await mismatch(database, stream, path);
    if (wrong !== null) return wrong;
    const rows = await database.rows(`SELECT num_rows FROM parquet_file_metadata(${quote(path)})`);
    return { path, rows: Number(rows[0]?.num_rows ?? 0) };
  } catch (error) {
    if (error instanceof MrmTraceError) throw error;
    return reasonOf(error);
  }
}

/**
 * Lists the segments of every stream in the order they were written and checks footer, version and columns of each.
 * @throws MrmTraceError data_quality when there is no capture folder or a segment has another major version
 */
export async function openCapture(database: Database, runDir: string): Promise<Capture> {
  const folder = join(runDir, "capture");
  try {
    await readdir(folder);
  } catch (cause) {
    throw new MrmTraceError(
      "data_quality",
      `${runDir} has no capture folder`,
      "give the folder that `mrm-trace run` printed as its run directory",
      { cause },
    );
  }
  const segments = Object.fromEntries(STREAMS.map((stream) => [stream, [] as Segment[]])) as Record<
    StreamName,
    Segment[]
  >;
  const skipped: SkippedSegment[] = [];
  for (const stream of STREAMS) {
    for (const { path } of listSegments(runDir, stream)) {
      const checked = await checkSegment(database, stream, path);
      if (typeof checked === "string") skipped.push({ stream, path, reason: checked });
      else if (checked.rows > 0) segments[stream].push(checked);
    }
  }
  return { runDir, segments, skipped };
}

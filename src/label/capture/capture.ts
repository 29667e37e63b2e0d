/** The segments below capture/ that can be read; every one that cannot is counted and named, and never ends the run. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { MrmTraceError } from "../../errors.ts";
import { readManifest } from "../../run-directory/manifest.ts";
import { isSegmentPath, listSegments } from "../../run-directory/segment-files.ts";
import { columnsOf, STREAMS, type StreamName } from "../../schema/columns.ts";
import { refuseOtherMajor } from "../../schema/refuse-version.ts";
import { SCHEMA_VERSION_KEY } from "../../schema/versions.ts";
import { type Database, quote } from "../../sql/database.ts";
import { sqlType } from "../../sql/table-sql.ts";

export interface Segment {
  readonly path: string;
  /** Rows by the file's own footer. */
  readonly rows: number;
  /** True where its columns cannot lack a value that the stream requires. */
  readonly complete: boolean;
  /** Columns of the stream that the file has. */
  readonly columns: readonly string[];
}

/** A segment that was left out. */
export interface SkippedSegment {
  readonly stream: StreamName;
  readonly path: string;
  /** Rows by the file's own footer; null where that cannot be read. */
  readonly rows: number | null;
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

interface FileColumn {
  readonly type: string;
  readonly required: boolean;
}

/** Streams in which a column that an older version did not know is read as without values. */
const GROWING: ReadonlySet<StreamName> = new Set(["mapping", "tensor", "step", "watch", "process"]);

/** Why a file does not have the columns of the stream; null when it has them all. */
function mismatch(stream: StreamName, found: ReadonlyMap<string, FileColumn>): string | null {
  for (const column of columnsOf(stream)) {
    const type = found.get(column.name)?.type;
    if (type === undefined && column.nullable === true && GROWING.has(stream)) continue;
    if (type === undefined) return `column ${column.name} is missing`;
    if (type !== sqlType(column)) return `column ${column.name} is ${type}, not ${sqlType(column)}`;
  }
  return null;
}

/** Schema versions of files by path; those that name none are left out. */
async function schemaVersions(database: Database, paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await database.rows(
    `SELECT file_name, decode(value) AS version FROM parquet_kv_metadata(${pathList(paths)}) WHERE decode(key) = ${quote(SCHEMA_VERSION_KEY)}`,
  );
  return new Map(
    rows.filter(({ version }) => version !== null).map((row) => [String(row.file_name), String(row.version)]),
  );
}

/** @throws MrmTraceError data_quality for a file of another major schema version */
export async function refuseOtherFile(database: Database, path: string): Promise<void> {
  for (const version of (await schemaVersions(database, [path])).values()) refuseOtherMajor(path, version);
}

const pathList = (paths: readonly string[]): string => `[${paths.map(quote).join(", ")}]`;

/** Columns of each file by path. */
async function fileColumns(
  database: Database,
  paths: readonly string[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, FileColumn>>> {
  const files = new Map(paths.map((path) => [path, new Map<string, FileColumn>()]));
  const rows = await database.rows(
    `SELECT file_name, name, duckdb_type, repetition_type FROM parquet_schema(${pathList(paths)}) WHERE duckdb_type IS NOT NULL`,
  );
  for (const row of rows) {
    const column = { type: String(row.duckdb_type), required: row.repetition_type === "REQUIRED" };
    files.get(String(row.file_name))?.set(String(row.name), column);
  }
  return files;
}

/** Each file as a segment, or why it is none, in the order given. */
async function checkSegments(
  database: Database,
  stream: StreamName,
  paths: readonly string[],
): Promise<(Segment | SkippedSegment)[]> {
  if (paths.length === 0) return [];
  try {
    for (const [path, version] of await schemaVersions(database, paths)) refuseOtherMajor(path, version);
    const columns = await fileColumns(database, paths);
    const counted = await database.rows(`SELECT file_name, num_rows FROM parquet_file_metadata(${pathList(paths)})`);
    const rowsOf = new Map(counted.map((row) => [String(row.file_name), Number(row.num_rows)]));
    return paths.map((path) => {
      const found = columns.get(path) ?? new Map<string, FileColumn>();
      const reason = mismatch(stream, found);
      if (reason !== null) return { stream, path, rows: rowsOf.get(path) ?? null, reason };
      const needed = columnsOf(stream).filter((column) => column.nullable !== true);
      const complete = needed.every((column) => found.get(column.name)?.required === true);
      const has = columnsOf(stream).map(({ name }) => name);
      return { path, rows: rowsOf.get(path) ?? 0, complete, columns: has.filter((name) => found.has(name)) };
    });
  } catch (error) {
    if (error instanceof MrmTraceError) throw error;
    const [path, ...others] = paths;
    if (path === undefined) return [];
    if (others.length === 0) return [{ stream, path, rows: null, reason: reasonOf(error) }];
    // One of them cannot be read: each is asked alone.
    const alone = [];
    for (const one of paths) alone.push(...(await checkSegments(database, stream, [one])));
    return alone;
  }
}

/** Paths of what was recorded by the manifest; none where there is none, as of a run that did not end. */
async function recordedPaths(runDir: string): Promise<string[]> {
  try {
    const { files } = await readManifest(runDir);
    return files.flatMap(({ path }) => (isSegmentPath(path) ? [join(runDir, path)] : []));
  } catch (error) {
    if (error instanceof MrmTraceError) return [];
    throw error;
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
  const recorded = await recordedPaths(runDir);
  for (const stream of STREAMS) {
    const paths = listSegments(runDir, stream).map(({ path }) => path);
    for (const path of recorded) {
      if (!path.startsWith(join(folder, stream, "/")) || paths.includes(path)) continue;
      skipped.push({ stream, path, rows: null, reason: "it is in the manifest, and there is no such file" });
    }
    for (const checked of await checkSegments(database, stream, paths)) {
      if ("reason" in checked) skipped.push(checked);
      else if (checked.rows > 0) segments[stream].push(checked);
    }
  }
  return { runDir, segments, skipped };
}

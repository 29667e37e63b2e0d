/** The segments below capture/ that can be read; every one that cannot is counted and named, and never ends the run. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { FileColumn, FileFooter } from "../../columnar/read/footer.ts";
import { openParquetSource } from "../../columnar/read/parquet-file.ts";
import { assertRefusal } from "../../columnar/read/refusal.ts";
import { MrmTraceError } from "../../errors.ts";
import { readManifest } from "../../run-directory/manifest.ts";
import { isSegmentPath, listSegments } from "../../run-directory/segment-files.ts";
import { columnsOf, STREAMS, type StreamName } from "../../schema/columns.ts";
import { refuseOtherMajor } from "../../schema/refuse-version.ts";
import { SCHEMA_VERSION_KEY } from "../../schema/versions.ts";

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

/** Streams in which a column that an older version did not know is read as without values. */
const GROWING: ReadonlySet<StreamName> = new Set(["mapping", "tensor", "step", "request", "watch", "process"]);

/** Why a file does not have the columns of the stream; null when it has them all. */
function mismatch(stream: StreamName, found: ReadonlyMap<string, FileColumn>): string | null {
  for (const { name, type, nullable } of columnsOf(stream)) {
    const column = found.get(name);
    if (column === undefined && nullable === true && GROWING.has(stream)) continue;
    if (column === undefined) return `column ${name} is missing`;
    if (column.type !== type) return `column ${name} is ${column.type ?? "of no type of ours"}, not ${type}`;
  }
  return null;
}

function footerOf(path: string): FileFooter {
  using source = openParquetSource(path);
  return source.footer;
}

/** The file as a segment, or why it is none. @throws MrmTraceError data_quality for another major schema version */
function checkSegment(stream: StreamName, path: string): Segment | SkippedSegment {
  try {
    const { columns, rows, metadata } = footerOf(path);
    const version = metadata.get(SCHEMA_VERSION_KEY);
    if (version !== undefined) refuseOtherMajor(path, version);
    const found = new Map(columns.map((column) => [column.name, column]));
    const reason = mismatch(stream, found);
    if (reason !== null) return { stream, path, rows, reason };
    const needed = columnsOf(stream).filter((column) => column.nullable !== true);
    const complete = needed.every(({ name }) => found.get(name)?.optional === false);
    const names = columnsOf(stream).map(({ name }) => name);
    return { path, rows, complete, columns: names.filter((name) => found.has(name)) };
  } catch (error) {
    if (error instanceof MrmTraceError) throw error;
    assertRefusal(error);
    return { stream, path, rows: null, reason: reasonOf(error) };
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
export async function openCapture(runDir: string): Promise<Capture> {
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
    for (const path of paths) {
      const checked = checkSegment(stream, path);
      if ("reason" in checked) skipped.push(checked);
      else if (checked.rows > 0) segments[stream].push(checked);
    }
  }
  return { runDir, segments, skipped };
}

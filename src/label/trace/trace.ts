/** Writes trace/: every captured access with what it touched, when in the run, and by which code. */
import { link, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { openParquetWriter, type ParquetWriter } from "../../columnar/write/parquet-writer.ts";
import { type Database, parquetScan } from "../../sql/database.ts";
import { type AccessRows, accessRows, FACTS, readAccessRows, wordLists } from "../capture/access-rows.ts";
import { type Capture, reasonOf, type Segment } from "../capture/capture.ts";
import { decodeAccessRows } from "../capture/decode-access-rows.ts";
import { columnList } from "../capture/stream-columns-sql.ts";
import { timeOrder } from "../capture/time-order.ts";
import type { RowsBySource } from "../capture/unread.ts";
import { type HitColumns, hitGatherer } from "../capture/watch-hits.ts";
import type { RunWindow } from "../timeline/origin.ts";
import type { HeatSums } from "./heat-sums.ts";
import type { RegionAccesses } from "./region-accesses.ts";
import { rowLabels, type TraceLabels } from "./row-labels.ts";
import { planParts, type TracePart } from "./trace-plan.ts";

/** Sums by address and time, and the sources by their numbers in them. */
export interface TraceHeat {
  readonly sums: HeatSums;
  readonly sources: readonly string[];
}

export interface TraceResult {
  /** Paths of the parts, in order of time. */
  readonly parts: readonly string[];
  readonly rows: number;
  /** Rows left out because a required value was missing. */
  readonly incomplete: number;
  readonly accesses: RegionAccesses;
  readonly heat: TraceHeat;
  readonly hits: HitColumns;
  readonly bySource: RowsBySource;
}

/** Suffix of a folder that is not finished; readers never look at it. */
const UNFINISHED = ".unfinished";
/** Rows that are labelled and encoded at a time: one row group of the file. */
const GROUP_ROWS = 1 << 17;
/** Rows that a file has at least, but for the last. */
const FILE_ROWS = 1 << 19;
const FILES_PER_COLLECTION = 4;

async function unreadable(database: Database, segment: Segment): Promise<string | null> {
  try {
    await database.run(`SELECT bit_xor(hash(${columnList("access")})) FROM ${parquetScan([segment.path])}`);
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Moves the segments whose pages cannot be read to `skipped`; false when all can. */
async function dropUnreadable(database: Database, capture: Capture): Promise<boolean> {
  let dropped = false;
  const readable: Segment[] = [];
  for (const segment of capture.segments.access) {
    const reason = await unreadable(database, segment);
    if (reason === null) readable.push(segment);
    else capture.skipped.push({ stream: "access", path: segment.path, rows: segment.rows, reason });
    dropped ||= reason !== null;
  }
  capture.segments.access.splice(0, Number.POSITIVE_INFINITY, ...readable);
  return dropped;
}

function partPath(folder: string, index: number): string {
  return join(folder, `part-${String(index).padStart(5, "0")}.parquet`);
}

interface Written {
  readonly parts: number;
  readonly rows: number;
  readonly accesses: RegionAccesses;
  readonly heat: TraceHeat;
  readonly hits: HitColumns;
  readonly bySource: RowsBySource;
}

/** Adds the rows of each source, by its position in the list. */
function countSources({ rows, words: { facts } }: AccessRows, counts: Float64Array): void {
  for (let row = 0; row < rows; row++) {
    const source = ((facts[row] as number) >>> FACTS.SOURCE_SHIFT) & FACTS.MASK;
    counts[source] = (counts[source] as number) + 1;
  }
}

async function writeParts(
  database: Database,
  folder: string,
  parts: readonly TracePart[],
  labels: TraceLabels,
  isTaken: (watchId: number) => boolean,
): Promise<Written> {
  const lists = wordLists();
  const labeller = rowLabels(labels, lists, GROUP_ROWS);
  const gatherer = hitGatherer(labels.originNs, isTaken);
  const counts = new Float64Array(FACTS.MASK + 1);
  const rows = accessRows();
  let file: ParquetWriter | null = null;
  let fileRows = 0;
  let written = 0;
  let sample = 0;
  const open = (): ParquetWriter => openParquetWriter(partPath(folder, written++), "trace");
  try {
    for (const part of parts) {
      if (!decodeAccessRows(part, lists, rows)) await readAccessRows(database, part, lists, rows);
      const order = timeOrder(rows.words.timestamp, rows.words.cpu, rows.rows);
      gatherer.add(rows, order, lists);
      countSources(rows, counts);
      if (rows.rows > 0) file ??= open();
      for (let from = 0; from < rows.rows; from += GROUP_ROWS) {
        file?.add(labeller.label(rows, order, from, Math.min(rows.rows, from + GROUP_ROWS), sample + from));
      }
      sample += rows.rows;
      fileRows += rows.rows;
      if (fileRows < FILE_ROWS) continue;
      file?.finish();
      file = null;
      fileRows = 0;
      // What was decoded and what was encoded is outside the heap: without this it gathers unseen.
      if (written % FILES_PER_COLLECTION === 0) Bun.gc(true);
    }
    if (written === 0) file = open();
    file?.finish();
  } finally {
    file?.[Symbol.dispose]();
  }
  const bySource = new Map(lists.sources.map((source, position) => [source, counts[position] ?? 0]));
  const heat = { sums: labeller.heat, sources: lists.sources };
  return { parts: written, rows: sample, accesses: labeller.accesses, heat, hits: gatherer.hits, bySource };
}

/** Puts the finished folder in place of the one before, and the link for readers of a single file. */
async function putInPlace(runDir: string, finished: string, parts: number): Promise<string[]> {
  const folder = join(runDir, "trace");
  const before = `${folder}${UNFINISHED}-before`;
  await rm(before, { recursive: true, force: true });
  await rename(folder, before).catch(() => {
    // The first analysis of the run: there is none before.
  });
  await rename(finished, folder);
  await rm(before, { recursive: true, force: true });
  const single = join(runDir, "trace.parquet");
  await rm(single, { force: true });
  if (parts === 1) await link(partPath(folder, 0), single);
  return Array.from({ length: parts }, (_, index) => partPath(folder, index));
}

/**
 * Labels every readable access of the capture. Segments that cannot be read are added to `capture.skipped`.
 * @param isTaken of a watch: its hits are held; all are in the trace
 * @throws MrmTraceError, or the SQL engine's error when no segment is at fault (no space, no memory)
 */
export async function writeTrace(
  database: Database,
  capture: Capture,
  times: RunWindow["times"],
  labels: TraceLabels,
  isTaken: (watchId: number) => boolean,
): Promise<TraceResult> {
  const finished = join(capture.runDir, `trace${UNFINISHED}`);
  // What has no time is in no part, and nobody would find it unreadable.
  if (capture.segments.access.some(({ path }) => !times.has(path))) await dropUnreadable(database, capture);
  for (;;) {
    await rm(finished, { recursive: true, force: true });
    await mkdir(finished, { mode: 0o700 });
    try {
      const parts = await planParts(database, capture, times);
      const { accesses, heat, hits, bySource, ...written } = await writeParts(
        database,
        finished,
        parts,
        labels,
        isTaken,
      );
      const paths = await putInPlace(capture.runDir, finished, written.parts);
      const seen = capture.segments.access.reduce((sum, segment) => sum + segment.rows, 0);
      return { parts: paths, rows: written.rows, incomplete: seen - written.rows, accesses, heat, hits, bySource };
    } catch (error) {
      await rm(finished, { recursive: true, force: true });
      if (!(await dropUnreadable(database, capture))) throw error;
    }
  }
}

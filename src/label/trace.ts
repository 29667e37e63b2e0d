/** Writes trace/: every captured access with what it touched, when in the run, and by which code. */
import { link, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { MappingRow } from "../regions/mapping-row.ts";
import { type Capture, reasonOf, type Segment } from "./capture.ts";
import { type CodeName, codeNames } from "./code-map.ts";
import { type Database, openDatabase, parquetScan } from "./database.ts";
import { copyToParquet, UNFINISHED } from "./derived-file.ts";
import { registerLabelFunctions } from "./label-functions.ts";
import { createLabelTables } from "./label-tables.ts";
import { relativeNs } from "./origin.ts";
import type { Timeline } from "./phase.ts";
import type { Region } from "./region-map.ts";
import { columnList } from "./stream-table.ts";
import { emptyRelation } from "./table-sql.ts";
import { type PlannedPart, planParts } from "./trace-plan.ts";
import { labelledRows } from "./trace-sql.ts";

export interface TraceLabels {
  readonly runId: string;
  readonly regions: readonly Region[];
  readonly mappings: readonly MappingRow[];
  readonly timeline: Timeline;
  readonly originNs: bigint;
}

export interface TraceResult {
  /** Paths of the parts, in order of time. */
  readonly parts: readonly string[];
  readonly rows: number;
  /** Rows left out because a required value was missing. */
  readonly incomplete: number;
}

/** One engine per core, each on one thread: a part's bytes then depend on its rows alone. */
const WORKERS = 2;
const WORKER_MEMORY_BYTES = 320 * 2 ** 20;

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
    else capture.skipped.push({ stream: "access", path: segment.path, reason });
    dropped ||= reason !== null;
  }
  capture.segments.access.splice(0, Number.POSITIVE_INFINITY, ...readable);
  return dropped;
}

async function distinctCode(database: Database, capture: Capture, labels: TraceLabels): Promise<CodeName[]> {
  const paths = capture.segments.access.map((segment) => segment.path);
  if (paths.length === 0) return [];
  const rows = await database.rows(
    `SELECT pid, ip, min(timestamp_ns) AS first FROM ${parquetScan(paths)} WHERE pid IS NOT NULL AND ip IS NOT NULL GROUP BY pid, ip ORDER BY pid, ip`,
  );
  const addresses = rows.map((row) => ({
    pid: Number(row.pid),
    ip: typeof row.ip === "bigint" ? row.ip : 0n,
    first_ns: relativeNs(row.first, labels.originNs) ?? 0,
  }));
  return codeNames(addresses, labels.mappings, labels.originNs);
}

function partPath(folder: string, index: number): string {
  return join(folder, `part-${String(index).padStart(5, "0")}.parquet`);
}

async function writeParts(
  folder: string,
  parts: readonly PlannedPart[],
  labels: TraceLabels,
  code: readonly CodeName[],
): Promise<void> {
  const places = labels.regions.map((region) => ({
    ...region,
    // What outlived the run holds its addresses to the last access.
    death_ns: region.death_censored ? Number.POSITIVE_INFINITY : region.death_ns,
  }));
  let next = 0;
  async function worker(number: number): Promise<void> {
    await using database = await openDatabase({
      threads: 1,
      memoryLimitBytes: WORKER_MEMORY_BYTES,
      spillFolder: join(folder, `spill-${number}`),
    });
    // The rows must stay the side that streams, however few they are: only then do they keep their order in time.
    await database.run("SET disabled_optimizers = 'join_order,build_side_probe_side'");
    const functions = registerLabelFunctions(database, places, labels.timeline, code, labels.originNs);
    await createLabelTables(database, labels.regions, labels.timeline, code);
    for (let index = next++; index < parts.length; index = next++) {
      const part = parts[index] as PlannedPart;
      functions.setNextSample(part.first_sample);
      await copyToParquet(database, labelledRows(part, labels.runId), partPath(folder, index));
    }
  }
  const workers = Array.from({ length: Math.min(WORKERS, parts.length) }, (_, number) => worker(number));
  const ended = await Promise.allSettled(workers);
  for (const result of ended) if (result.status === "rejected") throw result.reason;
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
 * @throws MrmTraceError, or the SQL engine's error when no segment is at fault (no space, no memory)
 */
export async function writeTrace(database: Database, capture: Capture, labels: TraceLabels): Promise<TraceResult> {
  const finished = join(capture.runDir, `trace${UNFINISHED}`);
  for (;;) {
    await rm(finished, { recursive: true, force: true });
    await mkdir(finished, { mode: 0o700 });
    try {
      const code = await distinctCode(database, capture, labels);
      const parts = await planParts(database, capture);
      await writeParts(finished, parts, labels, code);
      if (parts.length === 0) {
        await copyToParquet(database, `SELECT * FROM ${emptyRelation("trace")}`, partPath(finished, 0));
      }
      for (let i = 0; i < WORKERS; i++) await rm(join(finished, `spill-${i}`), { recursive: true, force: true });
      const paths = await putInPlace(capture.runDir, finished, Math.max(1, parts.length));
      const rows = parts.reduce((sum, part) => sum + part.rows, 0);
      const seen = capture.segments.access.reduce((sum, segment) => sum + segment.rows, 0);
      return { parts: paths, rows, incomplete: seen - rows };
    } catch (error) {
      await rm(finished, { recursive: true, force: true });
      if (!(await dropUnreadable(database, capture))) throw error;
    }
  }
}

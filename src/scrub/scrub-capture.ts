/** The capture of a run written anew as it may be shared, segment by segment. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Batch, isStringColumn } from "../columnar/batch.ts";
import { collectAfter } from "../columnar/collect-after.ts";
import { openParquetSource } from "../columnar/read/parquet-file.ts";
import { assertRefusal } from "../columnar/read/refusal.ts";
import { tableBatches } from "../columnar/read/table-batches.ts";
import { openParquetWriter } from "../columnar/write/parquet-writer.ts";
import { MrmTraceError } from "../errors.ts";
import { openCapture } from "../label/capture/capture.ts";
import { segmentName } from "../run-directory/segment-files.ts";
import { columnsOf, STREAMS, type StreamName } from "../schema/columns.ts";
import type { LedgerRow } from "../schema/ledger.ts";
import { pseudonyms } from "./pseudonyms.ts";
import { RULES } from "./rules.ts";
import { type Scrubbing, scrubbedBatch } from "./scrub-batch.ts";
import { type Survey, surveyCapture } from "./survey.ts";

const COLLECT_ROWS = 1 << 18;

/** What is not in the scrubbed run. */
export interface Dropped {
  /** Columns that no table of ours has, over all segments. */
  readonly unknown_columns: number;
  /** Columns of which no value may stay, by stream. */
  readonly columns: Readonly<Record<string, readonly string[]>>;
  /** Segments that cannot be read. */
  readonly segments: number;
  /** Files that are no segment, and nothing that is derived anew. */
  readonly files: number;
}

interface Segment {
  readonly stream: StreamName;
  readonly path: string;
  readonly rows: number;
}

/** A run that was looked through, and can be written. */
export interface Surveyed {
  readonly segments: readonly Segment[];
  readonly survey: Survey;
  readonly dropped: Pick<Dropped, "unknown_columns" | "columns">;
  /** Rows of the ledger for the segments that cannot be read. */
  readonly unread: readonly LedgerRow[];
}

function unreadRow(stream: StreamName, rows: number): LedgerRow {
  const counts = { seen: rows, kept: 0, filtered: 0, dropped: rows, dropped_by: { unreadable: rows } };
  return { stream, source: null, stage: "read", way: null, pid: null, ...counts, unseen_estimate: null };
}

function unknownColumns({ stream, path }: Segment): number {
  const ours = new Set(columnsOf(stream).map(({ name }) => name));
  using source = openParquetSource(path);
  return source.footer.columns.filter(({ name }) => !ours.has(name)).length;
}

/**
 * Looks through all segments, in order.
 * @param goOn awaited after each; it may throw to end the work
 * @throws MrmTraceError data_quality where there is no capture folder, or it is of another major version
 */
export async function surveyRun(runDir: string, goOn: () => Promise<void>): Promise<Surveyed> {
  const capture = await openCapture(runDir);
  const survey = surveyCapture();
  const segments: Segment[] = [];
  const unread = capture.skipped.map(({ stream, rows }) => unreadRow(stream, rows ?? 0));
  let unknown = 0;
  for (const stream of STREAMS) {
    for (const { path, rows } of capture.segments[stream]) {
      try {
        survey.look(stream, path);
        unknown += unknownColumns({ stream, path, rows });
        segments.push({ stream, path, rows });
      } catch (error) {
        if (error instanceof MrmTraceError) throw error;
        assertRefusal(error);
        unread.push(unreadRow(stream, rows));
      }
      await goOn();
    }
  }
  const dropped = STREAMS.map((stream) => {
    const names = Object.entries(RULES[stream]).flatMap(([name, rule]) => (rule === "drop" ? [name] : []));
    return [stream, names] as const;
  }).filter(([stream, names]) => names.length > 0 && segments.some((segment) => segment.stream === stream));
  return {
    segments,
    survey,
    dropped: { unknown_columns: unknown, columns: Object.fromEntries(dropped) },
    unread,
  };
}

function firstTime(batch: Batch): bigint {
  const column = batch.columns.timestamp_ns;
  const first = column === undefined || isStringColumn(column) ? undefined : column.data[0];
  return typeof first === "bigint" ? first : 0n;
}

/**
 * Writes the segments below `capture`.
 * @param zero_ns time from which the run counts
 * @param goOn awaited now and then; it may throw to end the work
 * @returns rows of the ledger for all segments that cannot be read
 * @throws MrmTraceError environment where they cannot be written
 */
export async function writeScrubbed(
  { segments, survey, unread }: Surveyed,
  capture: string,
  zero_ns: bigint,
  goOn: () => Promise<void>,
): Promise<LedgerRow[]> {
  const scrubbing: Scrubbing = {
    zeros: { ...survey.zeros(), time_ns: zero_ns },
    relocation: survey.relocation(),
    processes: survey.processes,
    names: pseudonyms(),
  };
  const collected = collectAfter(COLLECT_ROWS);
  const written = new Map<StreamName, number>();
  const notRead = [...unread];
  for (const { stream, path, rows } of segments) {
    const sequence = written.get(stream) ?? 0;
    const folder = join(capture, stream);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    let writer: ReturnType<typeof openParquetWriter> | null = null;
    try {
      for (const batch of tableBatches(path, stream)) {
        const scrubbed = scrubbedBatch(batch, scrubbing);
        writer ??= openParquetWriter(join(folder, segmentName(firstTime(scrubbed), sequence)), stream);
        writer.add(scrubbed);
        collected(batch.rows);
        await goOn();
      }
      writer?.finish();
      written.set(stream, sequence + 1);
    } catch (error) {
      if (error instanceof MrmTraceError) throw error;
      assertRefusal(error);
      notRead.push(unreadRow(stream, rows));
    } finally {
      writer?.[Symbol.dispose]();
    }
  }
  return notRead;
}

/** Batches of one stream become Parquet segments that close by size and by time; what cannot be kept is counted. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { MrmTraceError } from "../../errors.ts";
import { segmentName } from "../../run-directory/segment-files.ts";
import { columnsOf, type StreamName } from "../../schema/columns.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import { type Batch, isStringColumn } from "../batch.ts";
import { bytesPerRow, openAccumulator } from "./accumulator.ts";
import type { Encoder, Outcome } from "./encoder.ts";
import { openRowTally } from "./row-tally.ts";

export const DEFAULT_MAX_AGE_NS = 5e9;
/** A segment also closes when its distinct strings are this long together, so that memory stays bounded. */
const MAX_TEXT_BYTES = 8 * 2 ** 20;
const RETRY_NS = 20e6;

export interface SegmentWriterOptions {
  /** The run's one encoder, shared by its streams. */
  readonly encoder: Encoder;
  /** Folder of the segments, such as RUN/capture/fault; made when missing. */
  readonly dir: string;
  readonly table: StreamName;
  /** A segment closes at this many rows; by default as many, a power of two, as the encoder's queue has room for. */
  readonly maxRows?: number;
  /** A segment closes this long after its first row came; 5 s by default. */
  readonly maxAgeNs?: number;
  /** Metadata of every file, beside schema version and table name. */
  readonly keyValues?: ReadonlyMap<string, string>;
}

export interface SegmentWriter {
  readonly table: StreamName;
  /** Copies the rows and returns at once; rows that find no room are dropped and counted. */
  append(batch: Batch): void;
  /** Set once a segment could not be written; rows written before stay readable, and later segments are still tried. */
  readonly error: MrmTraceError | null;
  /** Bytes of the files written so far. */
  readonly writtenBytes: number;
  /** Rows dropped so far. */
  readonly droppedRows: number;
  /** Rows so far by source: `seen` appended, `kept` in files, `dropped` by cause; those under way count as neither. */
  account(): LedgerRow[];
  /** Writes what is left and waits; the account it returns balances. */
  close(): Promise<LedgerRow[]>;
}

/**
 * Opens a writer of one stream.
 *
 * Causes of drops: `writer_queue` (the encoder was behind), `disk_full`, `write_error`, `writer_closed`.
 *
 * @throws MrmTraceError failure when the folder cannot be made
 */
export function openSegmentWriter(options: SegmentWriterOptions): SegmentWriter {
  const { encoder, dir, table, keyValues = new Map() } = options;
  const { maxRows = rowsWithin(encoder.maxQueueBytes, table), maxAgeNs = DEFAULT_MAX_AGE_NS } = options;
  makeFolder(dir);
  const gathered = openAccumulator(table);
  const tally = openRowTally(table);
  /** Rows by source that wait for their segment. */
  const gatheredRows = tally.none();
  const underWay = new Set<Promise<void>>();
  let sequence = 0;
  let writtenBytes = 0;
  let error: MrmTraceError | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let closed = false;

  function full(): boolean {
    return gathered.rows >= maxRows || gathered.textBytes >= MAX_TEXT_BYTES;
  }

  function finish(outcome: Outcome, rows: Float64Array): void {
    if (outcome.failure === null) {
      tally.keep(rows);
      writtenBytes += outcome.bytes;
    } else {
      const full = outcome.failure.errno === "ENOSPC" || outcome.failure.errno === "EDQUOT";
      tally.drop(full ? "disk_full" : "write_error", rows);
      error ??= new MrmTraceError(
        "failure",
        `a segment of ${rows.reduce((sum, n) => sum + n, 0)} rows of ${table} is lost: ${outcome.failure.message}`,
        full ? "free some space, or name another folder with --output" : "check that the output folder is writable",
      );
    }
  }

  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (gathered.rows === 0) return;
    const rows = gatheredRows.slice();
    gatheredRows.fill(0);
    const batch = gathered.take();
    const path = join(dir, segmentName(firstTime(batch), sequence++));
    const done = encoder.submit(path, batch, keyValues).then((outcome) => {
      finish(outcome, rows);
      gathered.recycle(batch);
      underWay.delete(done);
    });
    underWay.add(done);
  }

  /** Closes the segment by age as soon as the encoder has room; the rows wait where they are until then. */
  function flushByAge(): void {
    timer = null;
    if (encoder.accepts(gathered.bytes)) flush();
    else arm(RETRY_NS);
  }

  function arm(ns: number): void {
    timer = setTimeout(flushByAge, ns / 1e6);
  }

  return {
    table,
    get error() {
      return error;
    },
    get writtenBytes() {
      return writtenBytes;
    },
    get droppedRows() {
      return tally.droppedRows;
    },
    account: tally.account,
    append(batch) {
      const drop = (cause: string, from: number): void =>
        tally.drop(cause, tally.add(batch, from, batch.rows, tally.none()));
      if (closed) return drop("writer_closed", 0);
      let from = 0;
      while (from < batch.rows) {
        if (full()) {
          if (!encoder.accepts(gathered.bytes)) return drop("writer_queue", from);
          flush();
        }
        const end = Math.min(batch.rows, from + maxRows - gathered.rows);
        gathered.append(batch, from, end);
        tally.add(batch, from, end, gatheredRows);
        from = end;
        timer ?? arm(maxAgeNs);
      }
      if (full() && encoder.accepts(gathered.bytes)) flush();
    },
    async close() {
      closed = true;
      flush();
      while (underWay.size > 0) await Promise.all(underWay);
      return tally.account();
    },
  };
}

/** Greatest power of two of rows whose columns take at most so many bytes; one at least. */
function rowsWithin(bytes: number, table: StreamName): number {
  const rowBytes = columnsOf(table).reduce((sum, column) => sum + bytesPerRow(column), 0);
  return 2 ** Math.max(0, Math.floor(Math.log2(bytes / rowBytes)));
}

function firstTime(batch: Batch): bigint {
  const column = batch.columns.timestamp_ns;
  if (column === undefined || isStringColumn(column)) return 0n;
  const first = column.data[0];
  return typeof first === "bigint" ? first : 0n;
}

function makeFolder(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new MrmTraceError(
      "failure",
      `cannot make the folder ${dir}: ${cause instanceof Error ? cause.message : String(cause)}`,
      "name a writable folder with --output",
      { cause },
    );
  }
}

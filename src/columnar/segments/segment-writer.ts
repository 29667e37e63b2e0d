/** Batches of one stream become Parquet segments that close by size, and with those of other streams; what cannot be kept is counted. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { MrmTraceError } from "../../errors.ts";
import { segmentName } from "../../run-directory/segment-files.ts";
import { isFull } from "../../run-directory/unwritable.ts";
import { columnsOf, type StreamName } from "../../schema/columns.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import { type Batch, isStringColumn } from "../batch.ts";
import { bytesPerRow, openAccumulator } from "./accumulator.ts";
import { type Closing, type Failure, openClosing } from "./closing.ts";
import type { Encoder } from "./encoder.ts";
import { openRowTally } from "./row-tally.ts";

/** A segment also closes when its distinct strings are this long together, so that memory stays bounded. */
const MAX_TEXT_BYTES = 8 * 2 ** 20;

export interface SegmentWriterOptions {
  /** The run's one encoder, shared by its streams. */
  readonly encoder: Encoder;
  /** Folder of the segments, such as RUN/capture/fault; made when missing. */
  readonly dir: string;
  readonly table: StreamName;
  /** A segment closes at this many rows; by default as many, a power of two, as the encoder's queue has room for. */
  readonly maxRows?: number;
  /** With what its segments close; alone, and at most 5 s after a row came, by default. */
  readonly closing?: Closing;
  /** Metadata of every file, beside schema version and table name. */
  readonly keyValues?: ReadonlyMap<string, string>;
}

export interface SegmentWriter {
  readonly table: StreamName;
  /** Copies the rows and returns at once; rows that find no room are dropped and counted. */
  append(batch: Batch): void;
  /** Set once a segment could not be written; rows written before stay readable, and no later segment is tried. */
  readonly error: MrmTraceError | null;
  /** Bytes of the files written so far. */
  readonly writtenBytes: number;
  /** Rows so far by source: `seen` appended, `kept` in files, `dropped` by cause; those under way count as neither. */
  account(): LedgerRow[];
  /** Takes no more rows, writes what is left here and in all that closes with it, and waits; its account balances. */
  close(): Promise<LedgerRow[]>;
}

/**
 * Opens a writer of one stream.
 *
 * Causes of drops: `writer_queue` (the encoder was behind), `disk_full`, `write_error`, `writer_closed`.
 *
 * @throws MrmTraceError environment where the disk has no room for the folder, failure where it cannot be made
 */
export function openSegmentWriter(options: SegmentWriterOptions): SegmentWriter {
  const { encoder, dir, table, keyValues = new Map(), closing = openClosing({ encoder }) } = options;
  const { maxRows = rowsWithin(encoder.maxQueueBytes, table) } = options;
  makeFolder(dir);
  const gathered = openAccumulator(table);
  const tally = openRowTally(table);
  /** Rows by source that wait for their segment. */
  const gatheredRows = tally.none();
  let sequence = 0;
  let writtenBytes = 0;
  let error: MrmTraceError | null = null;
  let closed = false;

  function full(): boolean {
    return gathered.rows >= maxRows || gathered.textBytes >= MAX_TEXT_BYTES;
  }

  function lose(rows: Float64Array, { message, errno }: Failure): void {
    const full = errno === "ENOSPC" || errno === "EDQUOT";
    tally.drop(full ? "disk_full" : "write_error", rows);
    error ??= new MrmTraceError(
      errno === null ? "failure" : "environment",
      `what was recorded last could not be written: ${message}`,
      full ? "free some space, or name another folder with --output" : "check that the output folder is writable",
    );
  }

  closing.join({
    table,
    get bytes() {
      return gathered.rows === 0 ? 0 : gathered.bytes;
    },
    take() {
      if (gathered.rows === 0) return null;
      const rows = gatheredRows.slice();
      gatheredRows.fill(0);
      const batch = gathered.take();
      return {
        path: join(dir, segmentName(firstTime(batch), sequence++)),
        batch,
        keyValues,
        settle(bytes, failure) {
          if (failure === null) tally.keep(rows);
          else lose(rows, failure);
          writtenBytes += bytes;
          gathered.recycle(batch);
        },
      };
    },
  });

  return {
    table,
    get error() {
      return error;
    },
    get writtenBytes() {
      return writtenBytes;
    },
    account: tally.account,
    append(batch) {
      const drop = (cause: string, from: number): void =>
        tally.drop(cause, tally.add(batch, from, batch.rows, tally.none()));
      if (closed) return drop("writer_closed", 0);
      let from = 0;
      while (from < batch.rows) {
        if (full()) {
          if (!closing.accepts(table)) return drop("writer_queue", from);
          closing.close(table);
        }
        const end = Math.min(batch.rows, from + maxRows - gathered.rows);
        gathered.append(batch, from, end);
        tally.add(batch, from, end, gatheredRows);
        from = end;
        closing.begin();
      }
      if (full() && closing.accepts(table)) closing.close(table);
    },
    async close() {
      closed = true;
      await closing.finish();
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
    const full = isFull(cause);
    throw new MrmTraceError(
      full ? "environment" : "failure",
      `cannot make the folder ${dir}: ${cause instanceof Error ? cause.message : String(cause)}`,
      // A disk with room for bytes may have none for names, as `df -i` tells.
      full ? "free some space or inodes, or name another folder with --output" : "name a writable folder with --output",
      { cause },
    );
  }
}

/** The files of a recording: a writer for each stream, which close together, and what is told of them at each closing. */
import { join } from "node:path";
import type { Batch } from "../columnar/batch.ts";
import { openClosing } from "../columnar/segments/closing.ts";
import { openEncoder } from "../columnar/segments/encoder.ts";
import { openSegmentWriter, type SegmentWriter } from "../columnar/segments/segment-writer.ts";
import type { MrmTraceError } from "../errors.ts";
import { monotonicNs } from "../kernel/libc.ts";
import { STREAMS, type StreamName } from "../schema/columns.ts";
import { inFiles, type LedgerRow, settled } from "../schema/ledger.ts";
import { eventsOf } from "../schema/loss.ts";
import { STREAM_GROUPS } from "./stream-groups.ts";

/** A file that says what is known of the recording, written anew at each closing. */
export interface Note {
  readonly path: string;
  readonly text: (closed: Closed) => string;
}

/** What is in files by a closing of all segments. */
export interface Closed {
  /** When they closed, ns of CLOCK_MONOTONIC: what came later is in none, but for streams that fill segments by then. */
  readonly end_ns: bigint;
  /** What became of every event by then; none is under way. */
  readonly ledger: readonly LedgerRow[];
  readonly rows: Readonly<Record<StreamName, number>>;
  readonly bytes: number;
}

export interface CaptureWriters extends AsyncDisposable {
  /** Copies the rows of a batch, and returns at once. */
  take(batch: Batch): void;
  /** Set once something could not be written: nothing is written after that. */
  readonly error: MrmTraceError | null;
  /** The last closing of which every row, and the note, are in files. */
  readonly closed: Closed | null;
  /** Rows so far, in files or not. */
  readonly rows: Readonly<Record<StreamName, number>>;
  /** Events that the collectors or the files have lost by now. */
  lostEvents(): number;
  /** Bytes of the files so far. */
  readonly writtenBytes: number;
  /** Bytes of the segments that wait for the encoder. */
  readonly queuedBytes: number;
  /** Closes all segments, and waits until they are written; later rows are dropped. @param ledger of the collectors */
  finish(ledger: readonly LedgerRow[]): Promise<readonly LedgerRow[]>;
}

/**
 * @param folder the run's capture folder
 * @param collected what became of the events of the collectors by now
 */
export function openCaptureWriters(
  folder: string,
  collected: () => readonly LedgerRow[],
  note: Note | null,
): CaptureWriters {
  const encoder = openEncoder();
  const writers = new Map<StreamName, SegmentWriter>();
  const rows = Object.fromEntries(STREAMS.map((stream) => [stream, 0])) as Record<StreamName, number>;
  let ended: readonly LedgerRow[] | null = null;
  let closed: Closed | null = null;

  const segmentRows = (): LedgerRow[] => [...writers.values()].flatMap((writer) => writer.account());
  const sum = (number: (writer: SegmentWriter) => number): number =>
    [...writers.values()].reduce((total, writer) => total + number(writer), 0);

  function rowsInFiles(ledger: readonly LedgerRow[]): Record<StreamName, number> {
    const counts = Object.fromEntries(STREAMS.map((stream) => [stream, 0])) as Record<StreamName, number>;
    for (const { stream, stage, kept } of ledger)
      if (stage === "segments" && stream !== "engine") counts[stream] += kept;
    return counts;
  }

  const closing = openClosing({
    encoder,
    groups: STREAM_GROUPS,
    onClosing() {
      const end_ns = monotonicNs();
      // The note is in place with the segments or not at all: it tells of their rows as in files.
      const ledger = [...(ended ?? collected()).map(settled), ...segmentRows().map(inFiles)];
      const now = { end_ns, ledger, rows: rowsInFiles(ledger), bytes: sum(({ writtenBytes }) => writtenBytes) };
      return {
        note: note === null ? null : { path: note.path, text: note.text(now) },
        onWritten() {
          closed = now;
        },
      };
    },
  });

  return {
    take(batch) {
      const stream = batch.table as StreamName;
      let writer = writers.get(stream);
      if (writer === undefined) {
        writer = openSegmentWriter({ encoder, dir: join(folder, stream), table: stream, closing });
        writers.set(stream, writer);
      }
      rows[stream] += batch.rows;
      writer.append(batch);
    },
    get error() {
      for (const writer of writers.values()) if (writer.error) return writer.error;
      return null;
    },
    get closed() {
      return closed;
    },
    rows,
    lostEvents: () => eventsOf([...(ended ?? collected()), ...segmentRows()]).dropped,
    get writtenBytes() {
      return sum(({ writtenBytes }) => writtenBytes);
    },
    get queuedBytes() {
      return encoder.queuedBytes;
    },
    async finish(ledger) {
      ended = ledger;
      await closing.finish();
      return segmentRows();
    },
    async [Symbol.asyncDispose]() {
      await closing.finish();
      await encoder[Symbol.asyncDispose]();
    },
  };
}

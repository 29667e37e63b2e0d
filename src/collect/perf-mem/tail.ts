/** A perf.data file while perf still writes it: what has been added is read, a little at a time. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { Batch } from "../../columnar/batch.ts";
import { ownBatch } from "../../columnar/own-batch.ts";
import { type Account, newAccount } from "./file/account.ts";
import { createCarry } from "./file/carry.ts";
import type { FileEvent } from "./file/event.ts";
import { createEventTable } from "./file/event-table.ts";
import { type ReadAt, readHeader } from "./file/header.ts";
import { createRecordReader } from "./file/record-reader.ts";
import type { TimerSink } from "./file/sample-reader.ts";
import { pmuNames } from "./perf-command.ts";

export interface PerfTail extends Disposable {
  /** Reads up to `bytes` more; true while there may be more. */
  read(bytes: number): boolean;
  /** Reads the rest of a file that perf has closed. @returns where and why it had to stop early, or null */
  finish(): { readonly offset: number; readonly why: string } | null;
  /** Rows since the last call, whose memory is the caller's. */
  take(): Batch[];
  readonly account: Account;
  readonly events: readonly FileEvent[];
}

const CHUNK_BYTES = 1 << 18;

/**
 * Opens a file whose header and attributes perf has written.
 * @param pmus names of the machine's PMUs by their number
 * @throws MrmTraceError data_quality where it has not
 */
export function openPerfTail(path: string, onTimer: TimerSink | null, pmus = pmuNames()): PerfTail {
  const fd = openSync(path, "r");
  const readAt: ReadAt = (position, size) => {
    const bytes = new Uint8Array(size);
    return bytes.subarray(0, readSync(fd, bytes, 0, size, position));
  };
  const events = createEventTable();
  const account = newAccount();
  let batches: Batch[] = [];
  // Names stand behind the records: of a machine that records itself the kernel tells them now.
  events.pmus(pmus);
  const header = readHeader(path, fstatSync(fd).size, readAt, events);
  const reader = createRecordReader(events, account, header.swapped, {
    onBatch: (batch) => batches.push(ownBatch(batch)),
    // Names and features stand behind the records of a file, and perf writes them when it ends.
    onHeader: () => true,
    onTimer,
    capacity: 1 << 13,
  });
  const carry = createCarry(2 * CHUNK_BYTES);
  let start = header.data.at;
  /** Where the records end, once perf has said so. */
  let end = Number.POSITIVE_INFINITY;
  /**
   * Set at bytes that are no record: what perf writes behind the records when it ends, before it says where they end.
   */
  let stopped: string | null = null;

  function step(most: number): number {
    const size = Math.min(most, CHUNK_BYTES, end - start);
    if (size <= 0 || stopped !== null) return 0;
    const got = readSync(fd, carry.room(size), 0, size, start);
    start += got;
    carry.add(got);
    const { used, pause } = reader.read(carry.bytes);
    carry.drop(used);
    if (pause.why === "broken") stopped = pause.message;
    if (pause.why === "compressed") stopped = "compressed records cannot be followed";
    return got;
  }

  return {
    account,
    get events() {
      return events.list;
    },
    read(bytes) {
      let left = bytes;
      while (left > 0) {
        const got = step(left);
        if (got === 0) return false;
        left -= got;
      }
      return true;
    },
    finish() {
      const last = readHeader(path, fstatSync(fd).size, readAt, createEventTable()).data;
      end = last.at + last.size;
      while (step(CHUNK_BYTES) > 0);
      reader.finish();
      const offset = start - carry.bytes.length;
      if (stopped !== null && offset < end) return { offset, why: stopped };
      return offset < end ? { offset, why: "the last record is cut" } : null;
    },
    take() {
      reader.flush();
      const taken = batches;
      batches = [];
      return taken;
    },
    [Symbol.dispose]() {
      closeSync(fd);
    },
  };
}

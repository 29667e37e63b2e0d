/** The loop over the records of a perf.data file: samples into columns, everything else to whom it concerns. */
import type { Batch } from "../../../columnar/batch.ts";
import { batchFromRows } from "../../../columnar/rows.ts";
import type { MappingEvent } from "../../../regions/mapping-row.ts";
import { MISC, RECORD } from "./abi.ts";
import { type Account, count, eventAccount } from "./account.ts";
import { type Bytes, bytesOf } from "./bytes.ts";
import type { EventTable } from "./event-table.ts";
import { createSideband, trailerOf } from "./mapping-records.ts";
import { createSampleReader, type TimerSink } from "./sample-reader.ts";

const HEADER_BYTES = 8;
/** Mapping rows that may gather before they become a batch. */
const MAPPING_ROWS = 4096;

/** Mapping rows that may wait for the first time of the file: perf tells at its start of all that all processes have mapped. */
const EARLY_ROWS = 1 << 17;
/** And letters of their names. */
const EARLY_LETTERS = 1 << 25;

/** Why a call returned. */
export type Pause =
  /** The bytes end inside a record, or at the end of one. */
  | { readonly why: "more" }
  /** A compressed record: its payload must be unpacked and its records read before going on. */
  | { readonly why: "compressed"; readonly payload: Uint8Array }
  /** A record that cannot be: nothing behind it can be found. */
  | { readonly why: "broken"; readonly message: string };

export interface RecordReader {
  /**
   * Reads whole records from `bytes`, whose memory begins at a multiple of 8.
   * @returns how many bytes were used, and why it stopped
   */
  read(bytes: Uint8Array): { readonly used: number; readonly pause: Pause };
  /** Hands over the rows so far. */
  flush(): void;
  /** Hands over the rows that are left, also those without a time. */
  finish(): void;
  /** Time of the first and of the last sample; 0 before any. */
  readonly first_ns: bigint;
  readonly last_ns: bigint;
}

export interface RecordSinks {
  /** The batch must be copied before it returns. */
  readonly onBatch: (batch: Batch) => void;
  /** Records that only a pipe has: attributes, names, features. */
  readonly onHeader: (record: Bytes, type: number) => boolean;
  readonly onTimer: TimerSink | null;
  /** Rows that are handed over at once. */
  readonly capacity: number;
}

/** @param swapped the file was written in the other byte order */
export function createRecordReader(
  events: EventTable,
  account: Account,
  swapped: boolean,
  sinks: RecordSinks,
): RecordReader {
  const samples = createSampleReader(events, account, swapped, sinks.onBatch, sinks.onTimer, sinks.capacity);
  let mappings: MappingEvent[] = [];
  /** Rows without a time before any record had one. */
  let early: MappingEvent[] = [];
  let earlyLetters = 0;
  let now_ns = 0n;
  /** Bytes behind a record that are no records, still to be stepped over. */
  let skip = 0;
  const sideband = createSideband(
    () => {
      const first = events.list[0];
      return trailerOf(first?.attribute.sample_type ?? 0, first?.attribute.sample_id_all ?? false);
    },
    () => now_ns || samples.first_ns,
  );

  function flushMappings(): void {
    if (mappings.length > 0) sinks.onBatch(batchFromRows("mapping", mappings));
    mappings = [];
  }

  function takeMappings(rows: readonly MappingEvent[]): void {
    for (const row of rows) {
      if (row.timestamp_ns === 0n) {
        earlyLetters += row.path?.length ?? 0;
        if (early.length < EARLY_ROWS && earlyLetters <= EARLY_LETTERS) early.push(row);
        else account.badRecords += 1;
      } else {
        if (now_ns === 0n) now_ns = row.timestamp_ns;
        mappings.push(row);
      }
    }
    if (mappings.length >= MAPPING_ROWS) flushMappings();
  }

  /** What was there before the first event is born with it. */
  function dateEarly(): void {
    const at_ns = now_ns === 0n || (samples.first_ns !== 0n && samples.first_ns < now_ns) ? samples.first_ns : now_ns;
    for (const row of early) {
      mappings.push({ ...row, timestamp_ns: at_ns, begin_ns: at_ns, end_ns: at_ns });
      if (mappings.length >= MAPPING_ROWS) flushMappings();
    }
    early = [];
    earlyLetters = 0;
  }

  /** Time, id of the event and of its one stream: of an event that runs on several CPUs or threads each is stopped for itself. */
  function takeStop(record: Bytes, what: "stopped" | "resumed"): void {
    if (record.length < 32) {
      account.badRecords += 1;
      return;
    }
    const id = record.u64(16);
    const place = events.list.length === 1 ? 0 : events.byId(Number(id & 0xffff_ffffn), Number(id >> 32n));
    if (place >= 0) eventAccount(account, place).stops[what](`${id}/${record.u64(24)}`, record.u64(8));
  }

  function other(record: Bytes, type: number, misc: number): void {
    switch (type) {
      case RECORD.LOST:
        if (record.length < 24) account.badRecords += 1;
        else count(account.dropped, "lost", boundedNumber(record.u64(16)));
        return;
      case RECORD.LOST_SAMPLES:
        if (record.length < 16) account.badRecords += 1;
        else count(account.dropped, "lost_samples", boundedNumber(record.u64(8)));
        return;
      case RECORD.THROTTLE:
        account.throttles += 1;
        takeStop(record, "stopped");
        return;
      case RECORD.UNTHROTTLE:
        takeStop(record, "resumed");
        return;
      case RECORD.HEADER_ATTR:
      case RECORD.EVENT_UPDATE:
      case RECORD.FEATURE:
        if (!sinks.onHeader(record, type)) account.badRecords += 1;
        return;
      default: {
        const rows = sideband(record, type, misc);
        if (rows === null) account.badRecords += 1;
        else takeMappings(rows);
      }
    }
  }

  return {
    read(bytes) {
      const { length } = bytes;
      const words = new Uint32Array(bytes.buffer, bytes.byteOffset, length >> 2);
      const view = bytesOf(bytes, swapped);
      let offset = 0;
      for (;;) {
        if (skip > 0) {
          const step = Math.min(skip, length - offset);
          offset += step;
          skip -= step;
        }
        if (offset + HEADER_BYTES > length || offset % 8 !== 0) return { used: offset, pause: { why: "more" } };
        const type = view.u32(offset);
        const misc = view.u16(offset + 4);
        const size = view.u16(offset + 6);
        if (size < HEADER_BYTES) {
          const message = `a record of type ${type} claims ${size} bytes`;
          return { used: offset, pause: { why: "broken", message } };
        }
        if (offset + size > length) return { used: offset, pause: { why: "more" } };
        account.records += 1;
        if (type === RECORD.SAMPLE) samples.read(words, offset >> 2, size, misc & MISC.CPUMODE_MASK);
        else if (type === RECORD.COMPRESSED || type === RECORD.COMPRESSED2) {
          const payload = payloadOf(bytes.subarray(offset, offset + size), view, offset, type);
          if (payload === null) account.badRecords += 1;
          else return { used: offset + size, pause: { why: "compressed", payload } };
        } else {
          if (type === RECORD.AUXTRACE && size >= 16) skip = boundedNumber(view.u64(offset + 8));
          if (type === RECORD.TRACING_DATA && size >= 12) skip = Math.ceil(view.u32(offset + 8) / 8) * 8;
          other(bytesOf(bytes.subarray(offset, offset + size), swapped), type, misc);
        }
        offset += size;
      }
    },
    flush() {
      if (samples.first_ns !== 0n) dateEarly();
      flushMappings();
      samples.flush();
    },
    finish() {
      dateEarly();
      flushMappings();
      samples.flush();
    },
    get first_ns() {
      return samples.first_ns;
    },
    get last_ns() {
      return samples.last_ns;
    },
  };
}

/** A count as a number that arithmetic survives. */
function boundedNumber(value: bigint): number {
  return value > 0x1fffffffffffffn ? Number.MAX_SAFE_INTEGER : Number(value);
}

function payloadOf(record: Uint8Array, view: Bytes, position: number, type: number): Uint8Array | null {
  if (type === RECORD.COMPRESSED) return record.subarray(HEADER_BYTES);
  // The newer one says how much of its padded length is data.
  const size = boundedNumber(view.u64(position + 8));
  return record.length >= 16 && size <= record.length - 16 ? record.subarray(16, 16 + size) : null;
}

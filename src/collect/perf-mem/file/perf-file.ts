/** A perf.data file from its first byte to its last, in bounded memory whatever its size. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { Batch } from "../../../columnar/batch.ts";
import { MrmTraceError } from "../../../errors.ts";
import { ROWS } from "../../access-columns.ts";
import { RECORD } from "./abi.ts";
import { type Account, newAccount } from "./account.ts";
import type { Bytes } from "./bytes.ts";
import { createCarry } from "./carry.ts";
import type { FileEvent } from "./event.ts";
import { createEventTable, type EventTable } from "./event-table.ts";
import { type FileFacts, readFeature } from "./features.ts";
import { readHeader } from "./header.ts";
import { createRecordReader, type RecordReader } from "./record-reader.ts";
import type { TimerSink } from "./sample-reader.ts";
import { createUnpacker, type Unpacker } from "./unpack.ts";

const CHUNK_BYTES = 1 << 20;
/** Where the header does not say what a compressed record holds: perf's buffers have 512 KiB, some users' 64 MiB. */
const UNPACKED_LIMIT_BYTES = 128 * 2 ** 20;
/** No sample is smaller than its header and a word. */
const LEAST_SAMPLE_BYTES = 16;
const EVENT_UPDATE_NAME = 2;

/** Bytes that are read by place: an open file, or memory. */
export interface PerfSource {
  /** What messages call it. */
  readonly name: string;
  readonly bytes: number;
  /** Fills `into` from `position` on; returns how many bytes it got, fewer only at the end. */
  read(into: Uint8Array, position: number): number;
}

export interface PerfFileOptions {
  /** The batch must be copied before it returns. */
  readonly onBatch: (batch: Batch) => void;
  /** Awaited between chunks: holds the reading up until there is room for more rows. */
  readonly ready?: () => Promise<void>;
  readonly onTimer?: TimerSink;
}

export interface PerfFile {
  readonly account: Account;
  readonly events: readonly FileEvent[];
  readonly facts: FileFacts;
  readonly pipe: boolean;
  readonly swapped: boolean;
  /** Where reading had to end before the end of the file, and why; null where it did not. */
  readonly broken: { readonly offset: number; readonly why: string } | null;
  /** Of the samples that were kept; of all where none was. */
  readonly first_ns: bigint;
  readonly last_ns: bigint;
}

/** Records that only a pipe has. */
function headerRecord(record: Bytes, type: number, events: EventTable, facts: FileFacts): boolean {
  if (type === RECORD.HEADER_ATTR) {
    const declared = record.u32(12);
    const attrBytes = declared === 0 ? 64 : declared;
    if (8 + attrBytes > record.length) return false;
    const ids = Array.from({ length: (record.length - 8 - attrBytes) >> 3 }, (_, i) =>
      record.u64(8 + attrBytes + 8 * i),
    );
    return events.addAttribute(record, 8, attrBytes, ids);
  }
  if (type === RECORD.EVENT_UPDATE) {
    if (record.length < 24) return false;
    if (record.u64(8) !== BigInt(EVENT_UPDATE_NAME)) return true;
    return events.name(record.text(24, record.length), [record.u64(16)], null);
  }
  return readFeature(record, Number(record.u64(8)), 16, record.length, facts, events);
}

/** Reads the pieces of compressed records; returns what is wrong with them, or null. */
function createNested(reader: RecordReader) {
  const carry = createCarry(1 << 16);
  let broken: string | null = null;
  return {
    take(piece: Uint8Array): void {
      if (broken !== null) return;
      carry.room(piece.length).set(piece);
      carry.add(piece.length);
      for (;;) {
        const { used, pause } = reader.read(carry.bytes);
        carry.drop(used);
        if (pause.why === "compressed") broken = "a compressed record holds a compressed record";
        else if (pause.why === "broken") broken = pause.message;
        if (pause.why !== "more" || used % 8 === 0 || used === 0) return;
      }
    },
    get broken() {
      return broken;
    },
  };
}

/**
 * Reads the whole file, handing over batches of the streams access, fault and mapping, in the order of the file.
 * @throws MrmTraceError usage where it cannot be opened, data_quality where its header cannot be
 */
export async function readPerfFile(path: string, options: PerfFileOptions): Promise<PerfFile> {
  const fd = openFile(path);
  try {
    const read = (into: Uint8Array, start: number): number => readSync(fd, into, 0, into.length, start);
    return await readPerfData({ name: path, bytes: fstatSync(fd).size, read }, options);
  } finally {
    closeSync(fd);
  }
}

function openFile(path: string): number {
  try {
    return openSync(path, "r");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MrmTraceError("usage", `cannot open ${path}: ${why}`, "give the path of a perf.data file", { cause });
  }
}

/** `readPerfFile` of any source. @throws MrmTraceError data_quality */
export async function readPerfData(
  source: PerfSource,
  { onBatch, ready, onTimer }: PerfFileOptions,
): Promise<PerfFile> {
  const fileBytes = source.bytes;
  const readAt = (fileOffset: number, size: number): Uint8Array => {
    const bytes = new Uint8Array(Math.max(0, Math.min(size, fileBytes - fileOffset)));
    if (bytes.length === 0 || !Number.isSafeInteger(fileOffset)) return new Uint8Array(0);
    return bytes.subarray(0, source.read(bytes, fileOffset));
  };
  const events = createEventTable();
  const account = newAccount();
  const header = readHeader(source.name, fileBytes, readAt, events);
  const { facts, swapped } = header;
  account.badRecords += header.bad_sections;
  const reader = createRecordReader(events, account, swapped, {
    onBatch,
    onHeader: (record, type) => headerRecord(record, type, events, facts),
    onTimer: onTimer ?? null,
    capacity: Math.min(ROWS, Math.ceil(fileBytes / LEAST_SAMPLE_BYTES)),
  });
  const nested = createNested(reader);
  let unpacker: Unpacker | null = null;
  const chunkBytes = Math.min(CHUNK_BYTES, fileBytes);
  const carry = createCarry(2 * chunkBytes);
  let position = header.data.at;
  const end = header.data.at + header.data.size;
  let broken: PerfFile["broken"] = null;
  /** Place in the file of the first byte that is kept. */
  const offset = (): number => position - carry.bytes.length;
  try {
    while (broken === null && position < end) {
      const got = source.read(carry.room(Math.min(chunkBytes, end - position)), position);
      if (got === 0) break;
      carry.add(got);
      position += got;
      for (let more = true; more && broken === null; ) {
        const { used, pause } = reader.read(carry.bytes);
        if (pause.why === "broken") broken = { offset: offset() + used, why: pause.message };
        if (pause.why === "compressed") {
          unpacker ??= createUnpacker(facts.unpacked_limit_bytes || UNPACKED_LIMIT_BYTES);
          const wrong = (await unpacker.unpack(pause.payload, nested.take)) ?? nested.broken;
          if (wrong !== null) broken = { offset: offset() + used, why: wrong };
          // A chunk of them may unpack to many times its bytes.
          await ready?.();
        }
        carry.drop(used);
        // Behind a record of odd length the next begins anew at a multiple of 8.
        more = pause.why === "compressed" || (used % 8 !== 0 && used > 0);
      }
      await ready?.();
    }
  } finally {
    unpacker?.[Symbol.dispose]();
  }
  if (broken === null && carry.bytes.length > 0) broken = { offset: offset(), why: "the last record is cut" };
  reader.finish();
  const { list } = events;
  const nothingKept = account.keptAccesses + account.keptFaults === 0;
  return {
    account,
    events: list,
    facts,
    pipe: header.pipe,
    swapped,
    broken,
    first_ns: nothingKept ? account.left_first_ns : reader.first_ns,
    last_ns: nothingKept ? account.left_last_ns : reader.last_ns,
  };
}

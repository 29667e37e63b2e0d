/** The header of a perf.data file: pipe or file, byte order, events, where the records lie. */
import { MrmTraceError } from "../../../errors.ts";
import { type Bytes, bytesOf } from "./bytes.ts";
import type { EventTable } from "./event-table.ts";
import { type FileFacts, readFeature } from "./features.ts";

/** `PERFILE2` as written by a machine of either byte order. */
const MAGIC = "PERFILE2";
const SWAPPED_MAGIC = "2ELIFREP";
export const PIPE_HEADER_BYTES = 16;
const FILE_HEADER_BYTES = 104;
const FEATURE_BYTES = 32;
/** A section of attributes that is larger is refused, and one of a feature left out: real ones have some hundred kB. */
const MOST_ATTRIBUTE_BYTES = 64 * 2 ** 20;
const MOST_FEATURE_BYTES = 4 * 2 ** 20;

/** Reads up to `size` bytes at a place of the file; fewer at its end. */
export type ReadAt = (position: number, size: number) => Uint8Array;

export interface FileHeader {
  readonly pipe: boolean;
  readonly swapped: boolean;
  /** Where the records begin, and their bytes; to the end of the file where that is not known. */
  readonly data: { readonly at: number; readonly size: number };
  readonly facts: FileFacts;
  /** Feature sections that could not be read. */
  readonly bad_sections: number;
}

/** True where the bytes begin like a perf.data file. */
export function isPerfData(start: Uint8Array): boolean {
  const magic = Buffer.from(start.subarray(0, 8)).toString("latin1");
  return magic === MAGIC || magic === SWAPPED_MAGIC;
}

function refuse(path: string, offset: number, why: string): MrmTraceError {
  return new MrmTraceError(
    "data_quality",
    `${path} cannot be read as perf.data: at byte ${offset}, ${why}`,
    "record it again, or check it with: perf evlist -v -i FILE",
  );
}

interface Section {
  readonly at: number;
  readonly size: number;
}

/** @throws MrmTraceError data_quality with the byte offset of what cannot be */
export function readHeader(path: string, fileBytes: number, readAt: ReadAt, events: EventTable): FileHeader {
  const start = readAt(0, FILE_HEADER_BYTES);
  if (!isPerfData(start)) throw refuse(path, 0, "there is neither PERFILE2 nor 2ELIFREP");
  const swapped = Buffer.from(start.subarray(0, 8)).toString("latin1") === SWAPPED_MAGIC;
  const head = bytesOf(start, swapped);
  const headerSize = Number(head.u64(8));
  const facts: FileFacts = {};
  if (headerSize === PIPE_HEADER_BYTES) {
    const data = { at: PIPE_HEADER_BYTES, size: Math.max(0, fileBytes - PIPE_HEADER_BYTES) };
    return { pipe: true, swapped, data, facts, bad_sections: 0 };
  }
  if (headerSize < FILE_HEADER_BYTES || start.length < FILE_HEADER_BYTES) {
    throw refuse(path, 8, `the header claims ${headerSize} bytes of ${FILE_HEADER_BYTES}`);
  }
  const section = (position: number): Section => ({
    at: Number(head.u64(position)),
    size: Number(head.u64(position + 8)),
  });
  const attrs = section(24);
  const data = section(40);
  readAttributes(path, { entryBytes: Number(head.u64(16)), attrs, swapped, readAt, events });
  if (data.at < FILE_HEADER_BYTES || data.at > fileBytes)
    throw refuse(path, 40, `the records begin at byte ${data.at} of ${fileBytes}`);
  const rest = fileBytes - data.at;
  // A perf that was killed leaves 0: everything behind is records.
  const size = data.size === 0 ? rest : Math.min(data.size, rest);
  let bad_sections = 0;
  if (data.size !== 0 && data.size <= rest) {
    bad_sections = readFeatures(featureNumbers(start.subarray(72, 72 + FEATURE_BYTES), swapped), data.at + data.size, {
      swapped,
      readAt,
      facts,
      events,
    });
  }
  return { pipe: false, swapped, data: { at: data.at, size }, facts, bad_sections };
}

interface AttributeSource {
  readonly entryBytes: number;
  readonly attrs: Section;
  readonly swapped: boolean;
  readonly readAt: ReadAt;
  readonly events: EventTable;
}

const ID_SECTION_BYTES = 16;

function readAttributes(path: string, { entryBytes, attrs, swapped, readAt, events }: AttributeSource): void {
  if (entryBytes < 64 + ID_SECTION_BYTES || entryBytes > 4096) {
    throw refuse(path, 16, `an event's entry claims ${entryBytes} bytes`);
  }
  if (attrs.size < entryBytes || attrs.size > MOST_ATTRIBUTE_BYTES) {
    throw refuse(path, 24, `the list of events claims ${attrs.size} bytes`);
  }
  const bytes = bytesOf(readAt(attrs.at, attrs.size), swapped);
  const whole = Math.floor(Math.min(bytes.length, attrs.size) / entryBytes);
  if (whole === 0) throw refuse(path, attrs.at, "the list of events is not in the file");
  for (let i = 0; i < whole; i++) {
    const position = i * entryBytes;
    const attrBytes = entryBytes - ID_SECTION_BYTES;
    const ids = { at: Number(bytes.u64(position + attrBytes)), size: Number(bytes.u64(position + attrBytes + 8)) };
    // All events together: lists that lie over each other would take many times the file's own bytes.
    if (ids.size > 8 * events.idsLeft || ids.size % 8 !== 0) {
      throw refuse(path, attrs.at + position + attrBytes, `the ids of event ${i} claim ${ids.size} bytes`);
    }
    const idBytes = ids.size === 0 ? null : bytesOf(readAt(ids.at, ids.size), swapped);
    const list = Array.from({ length: (idBytes?.length ?? 0) >> 3 }, (_, id) => idBytes?.u64(8 * id) ?? 0n);
    if (!events.addAttribute(bytes, position, attrBytes, list)) {
      throw refuse(path, attrs.at + position, `event ${i} cannot be read`);
    }
  }
}

/** Numbers of the features whose bit is set; the flags are 64-bit words of the file's order. */
function featureNumbers(flags: Uint8Array, swapped: boolean): number[] {
  const words = bytesOf(flags, swapped);
  const numbers: number[] = [];
  for (let bit = 0; bit < 8 * FEATURE_BYTES; bit++) {
    if ((words.u64((bit >> 6) * 8) >> BigInt(bit & 63)) & 1n) numbers.push(bit);
  }
  return numbers;
}

interface FeatureSource {
  readonly swapped: boolean;
  readonly readAt: ReadAt;
  readonly facts: FileFacts;
  readonly events: EventTable;
}

/** One section {offset, size} per feature, in order, right behind the records. @returns how many are damaged */
function readFeatures(
  numbers: readonly number[],
  start: number,
  { swapped, readAt, facts, events }: FeatureSource,
): number {
  const table: Bytes = bytesOf(readAt(start, 16 * numbers.length), swapped);
  let bad = 0;
  for (const [i, feature] of numbers.entries()) {
    const section = { at: Number(table.u64(16 * i)), size: Number(table.u64(16 * i + 8)) };
    if (16 * (i + 1) > table.length || section.size > MOST_FEATURE_BYTES) {
      bad += 1;
      continue;
    }
    const bytes = bytesOf(readAt(section.at, section.size), swapped);
    if (bytes.length < section.size || !readFeature(bytes, feature, 0, section.size, facts, events)) bad += 1;
  }
  return bad;
}

/** The directory of a GGUF: header, key-values, and where each tensor lies. */
import type { ByteSource, NamedTensor, Refusal } from "../tensor-file.ts";
import { type Cursor, openCursor } from "./cursor.ts";
import { TENSOR_TYPES, tensorBytes } from "./tensor-type.ts";
import { type GgufValue, readValue } from "./value.ts";

/** `type` is ggml's name of the type, `type <id>` for one that this reader does not know. */
export type GgufTensor = NamedTensor;

export interface GgufDirectory {
  readonly version: number;
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: readonly GgufTensor[];
  /** Every tensor starts at a multiple of this, from `dataOffset`. */
  readonly alignmentBytes: number;
  readonly dataOffset: number;
  readonly fileBytes: number;
}

/** The directory, or why the bytes are not one and where that showed. */
export type GgufResult = { readonly ok: true; readonly directory: GgufDirectory } | Refusal;

const MAGIC = 0x46554747; // "GGUF", little-endian
const MAX_KEY_BYTES = 65535;
/** ggml cuts a tensor's name at 64 bytes; other writers use longer ones. */
const MAX_TENSOR_NAME_BYTES = 1024;
const MAX_DIMENSIONS = 4;
const MAX_ENTRIES = 2 ** 20;
/** Far above the largest vocabulary; what a hostile file can make the reader keep. */
const MAX_DIRECTORY_BYTES = 128 * 2 ** 20;
const SMALLEST_KEY_VALUE_BYTES = 8 + 4 + 1;
const SMALLEST_TENSOR_INFO_BYTES = 8 + 4 + 4 + 8;

/** Whether bytes are the first of a GGUF. */
export function isGguf(bytes: Uint8Array): boolean {
  if (bytes.length < 4) return false;
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true) === MAGIC;
}

/**
 * Reads a directory from bytes that may be hostile: never throws, never reads past them, time and memory bounded by their length and by fixed limits.
 * @param fileBytes length of the whole file where `bytes` is only its beginning
 */
export function parseGguf(bytes: Uint8Array, fileBytes: number = bytes.length): GgufResult {
  return parseGgufSource(
    { size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length) },
    fileBytes,
  );
}

/** As `parseGguf`, from any source; `read` of the source may throw, and that passes through. */
export function parseGgufSource(source: ByteSource, fileBytes: number = source.size): GgufResult {
  const size = Math.min(source.size, MAX_DIRECTORY_BYTES);
  const cursor = openCursor({ size, read: (offset, length) => source.read(offset, length) });
  const directory = readDirectory(cursor, fileBytes);
  const failure = cursor.failure();
  return failure ? { ok: false, ...failure } : { ok: true, directory };
}

/** A name from the file as text that cannot steer a terminal. */
function shown(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}

function readDirectory(cursor: Cursor, fileBytes: number): GgufDirectory {
  if (cursor.u32() !== MAGIC) cursor.fail("does not begin with GGUF");
  const version = cursor.u32();
  if (version !== 2 && version !== 3) cursor.fail(`GGUF version ${version}; 2 and 3 are read`);
  const tensorCount = entryCount(cursor, "tensors", SMALLEST_TENSOR_INFO_BYTES);
  const metadata = readMetadata(cursor, entryCount(cursor, "key-values", SMALLEST_KEY_VALUE_BYTES));
  const alignmentBytes = readAlignment(cursor, metadata);
  const infos = readTensorInfos(cursor, tensorCount, alignmentBytes);
  const dataOffset = Math.ceil(cursor.offset() / alignmentBytes) * alignmentBytes;
  const tensors = infos.map((info) => ({ ...info, offset: info.offset + dataOffset }));
  for (const { name, offset, bytes } of tensors) {
    const end = offset + (bytes ?? 0);
    if (end > fileBytes) cursor.fail(`tensor ${shown(name)} ends at byte ${end} of a file of ${fileBytes}: truncated`);
  }
  return { version, metadata, tensors, alignmentBytes, dataOffset, fileBytes };
}

function entryCount(cursor: Cursor, what: string, smallestBytes: number): number {
  const count = cursor.count();
  if (count <= MAX_ENTRIES && count * smallestBytes <= cursor.left()) return count;
  cursor.fail(`${count} ${what} cannot fit`);
  return 0;
}

function readMetadata(cursor: Cursor, count: number): Map<string, GgufValue> {
  const metadata = new Map<string, GgufValue>();
  for (let entry = 0; entry < count && cursor.failure() === null; entry += 1) {
    const key = cursor.string(MAX_KEY_BYTES);
    if (metadata.has(key)) cursor.fail(`key ${shown(key)} stands twice`);
    metadata.set(key, readValue(cursor));
  }
  return metadata;
}

function readAlignment(cursor: Cursor, metadata: ReadonlyMap<string, GgufValue>): number {
  const value = metadata.get("general.alignment") ?? 32;
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && Number.isInteger(Math.log2(value))) {
    return value;
  }
  cursor.fail("general.alignment is not a power of two");
  return 32;
}

/** Offsets are from the start of the data. */
function readTensorInfos(cursor: Cursor, count: number, alignmentBytes: number): GgufTensor[] {
  const infos: GgufTensor[] = [];
  const names = new Set<string>();
  for (let entry = 0; entry < count && cursor.failure() === null; entry += 1) {
    const info = readTensorInfo(cursor);
    if (names.has(info.name)) cursor.fail(`tensor ${shown(info.name)} stands twice`);
    if (info.offset % alignmentBytes !== 0) cursor.fail(`tensor ${shown(info.name)} at ${info.offset} is not aligned`);
    names.add(info.name);
    infos.push(info);
  }
  return infos;
}

function readTensorInfo(cursor: Cursor): GgufTensor {
  const name = cursor.string(MAX_TENSOR_NAME_BYTES);
  const dimensions = cursor.u32();
  if (dimensions > MAX_DIMENSIONS) cursor.fail(`tensor ${shown(name)} has ${dimensions} dimensions`);
  const shape: number[] = [];
  for (let axis = 0; axis < dimensions && cursor.failure() === null; axis += 1) shape.push(cursor.count());
  const id = cursor.u32();
  const offset = cursor.count();
  const type = TENSOR_TYPES.get(id);
  const bytes = type ? tensorBytes(type, shape) : null;
  if (type && bytes === null)
    cursor.fail(`tensor ${shown(name)} of ${type.name} cannot have the shape ${shape.join(" x ")}`);
  return { name, type: type?.name ?? `type ${id}`, shape, offset, bytes };
}

/** Opens a memray capture, compressed or raw, and reads its header. */
import { MrmTraceError } from "../../../errors.ts";
import { bytesOf, type FileBytes, openFileBytes } from "./byte-source.ts";
import { type ByteWindow, openByteWindow } from "./byte-window.ts";
import { openCursor, type RecordCursor } from "./cursor.ts";
import { type CaptureHeader, captureVersion, MAGIC, NEWEST_VERSION, OLDEST_VERSION, readHeader } from "./header.ts";
import { LZ4_MAGIC, lz4Content } from "./lz4-frame.ts";

const SCAN_BYTES = 1 << 20;
const ZEROS = new Uint8Array(SCAN_BYTES);
/** No process had memray grow its file by as much; a file of holes has any number at its end. */
const MOST_ZEROS = 2 ** 36;
const WINDOW_BYTES = 1 << 20;
const LEAST_WINDOW_BYTES = 1 << 12;
const LEAST_RECORDS = 1 << 8;

export interface CaptureFile extends Disposable {
  readonly header: CaptureHeader;
  readonly window: ByteWindow;
  readonly cursor: RecordCursor;
  readonly compressed: boolean;
  /** Bytes of the file. */
  readonly size: number;
  /** Why the bytes ended before the file did; null while that is not so. */
  problem(): string | null;
}

/** Room for the records of a file, `most` at most: a forked child leaves a capture of some KB, and there may be many. */
export function recordsIn({ size }: CaptureFile, most: number): number {
  return Math.min(most, Math.max(LEAST_RECORDS, size));
}

/** True where the first bytes of a file are a capture's; compressed ones are looked into, as far as that can be. */
export function beginsAsCapture(start: Uint8Array): boolean {
  const source = bytesOf(start);
  const compressed = isLz4(start);
  const head = openByteWindow(compressed ? lz4Content(source) : source, 1 << 12);
  head.fill(MAGIC.length);
  // A block that is cut gives nothing out: who reads the file says so.
  if (compressed && head.end === 0) return true;
  return MAGIC.every((byte, i) => i < head.end && head.bytes[i] === byte);
}

/**
 * Opens a capture.
 * @throws MrmTraceError usage where there is no file or it is no capture; data_quality for a version that is not read,
 *   or a header that is not whole
 */
export function openCapture(path: string): CaptureFile {
  const file = openFileBytes(path);
  try {
    const head = new Uint8Array(4);
    const compressed = isLz4(head.subarray(0, file.readAt(head, 0)));
    const source = compressed ? lz4Content(file) : file;
    const window = openByteWindow(source, Math.min(WINDOW_BYTES, Math.max(LEAST_WINDOW_BYTES, file.size)));
    const cursor = openCursor(window);
    const version = cursor.record(captureVersion);
    if (!version.ok && compressed && source.problem !== null) throw nothingUnpacked(path, source.problem);
    if (!version.ok || version.value === null) throw noCapture(path, source.problem);
    if (version.value < OLDEST_VERSION || version.value > NEWEST_VERSION) throw otherVersion(path, version.value);
    const versionNumber = version.value;
    const header = cursor.record((fields) => readHeader(fields, versionNumber));
    if (!header.ok) throw brokenHeader(path, source.problem ?? `its header is ${header.cut ? "cut" : "damaged"}`);
    const records = compressed ? { window, cursor } : behindHeader(path, file, window.before + window.pos);
    return {
      header: header.value,
      ...records,
      compressed,
      size: file.size,
      problem: () => source.problem,
      [Symbol.dispose]: () => file[Symbol.dispose](),
    };
  } catch (error) {
    file[Symbol.dispose]();
    throw error;
  }
}

/**
 * The records of a raw file. A killed process leaves it as long as it had been grown, with zeros behind what it wrote:
 * they are no records, though the last one may have lost zeros of its own to them.
 * @throws MrmTraceError data_quality
 */
function behindHeader(path: string, file: FileBytes, headerEnd: number): { window: ByteWindow; cursor: RecordCursor } {
  const used = lastUsedByte(file);
  if (used === null) throw brokenHeader(path, `its last ${MOST_ZEROS} bytes are zeros`);
  file.range(headerEnd, Math.max(headerEnd, used));
  const bytes = Math.min(WINDOW_BYTES, Math.max(LEAST_WINDOW_BYTES, file.size - headerEnd));
  const window = openByteWindow(file, bytes, headerEnd);
  return { window, cursor: openCursor(window) };
}

function isLz4(start: Uint8Array): boolean {
  return start.length >= 4 && new DataView(start.buffer, start.byteOffset).getUint32(0, true) === LZ4_MAGIC;
}

/** The index after the last byte of a file that is not zero; null where that is not looked for any longer. */
export function lastUsedByte(file: Pick<FileBytes, "size" | "readAt">): number | null {
  const chunk = new Uint8Array(Math.min(SCAN_BYTES, file.size));
  for (let end = file.size; end > 0; ) {
    const from = Math.max(0, end - SCAN_BYTES);
    if (file.size - end > MOST_ZEROS) return null;
    const got = file.readAt(chunk.subarray(0, end - from), from);
    const isEmpty = Buffer.compare(chunk.subarray(0, got), ZEROS.subarray(0, got)) === 0;
    for (let i = got - 1; i >= 0 && !isEmpty; i--) if (chunk[i] !== 0) return from + i + 1;
    end = from;
  }
  return 0;
}

function noCapture(path: string, problem: string | null): MrmTraceError {
  return new MrmTraceError(
    "data_quality",
    `${path} is no memray capture: ${problem ?? 'it does not begin with "memray"'}`,
    "give a file that `memray run -o FILE` wrote",
  );
}

function nothingUnpacked(path: string, problem: string): MrmTraceError {
  return new MrmTraceError(
    "data_quality",
    `${path} begins as a compressed memray capture does, and nothing behind that can be read: ${problem}`,
    "record it again with `memray run`, or copy the file again",
  );
}

function otherVersion(path: string, version: number): MrmTraceError {
  return new MrmTraceError(
    "data_quality",
    `${path} is a memray capture of version ${version}; versions ${OLDEST_VERSION} to ${NEWEST_VERSION} can be read`,
    "record it again with memray 1.11 to 1.20",
  );
}

function brokenHeader(path: string, why: string): MrmTraceError {
  return new MrmTraceError("data_quality", `${path} cannot be read: ${why}`, "record it again with `memray run`");
}

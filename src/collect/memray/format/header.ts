/** The header of a memray capture, versions 11 to 13 (memray's records.h, struct HeaderRecord). */
import type { Cursor } from "./cursor.ts";

export const OLDEST_VERSION = 11;
export const NEWEST_VERSION = 13;
/** "memray" and its NUL. */
export const MAGIC = new Uint8Array([0x6d, 0x65, 0x6d, 0x72, 0x61, 0x79, 0]);

/** No capture names more module search paths than this; a list without end is damage. */
const MAX_PATHS = 65_536;
const PYTHON_ALLOCATORS = ["", "pymalloc", "pymalloc_debug", "malloc", "other", "mimalloc", "mimalloc_debug"];

export interface CaptureHeader {
  readonly version: number;
  /** Such as 0x030b02f0 for 3.11.2; null in version 11. */
  readonly pythonVersion: number | null;
  readonly nativeTraces: boolean;
  readonly aggregated: boolean;
  /** Allocations and frees that the writer counted; 0 where it was killed or aggregated. */
  readonly nRecords: number;
  /** CLOCK_REALTIME in ms. */
  readonly startMs: number;
  /** CLOCK_REALTIME in ms; 0 where the writer was killed. */
  readonly endMs: number;
  readonly commandLine: string;
  readonly pid: number;
  readonly mainThread: number;
  /** Outermost frames of the main thread that are memray's own. */
  readonly ownFrames: number;
  readonly pythonAllocator: string;
  readonly tracesPythonAllocators: boolean;
}

/** What the first bytes are, before a version decides how the rest is read: null where it is no capture. */
export function captureVersion(cursor: Cursor): number | null {
  let same = true;
  for (const byte of MAGIC) same = cursor.u8() === byte && same;
  const version = cursor.i32();
  return same ? version : null;
}

/** Where the command line stands in a raw capture: behind magic, version and the fixed fields. */
export function commandLineOffset(version: number): number {
  const fields = (version >= 12 ? 4 : 0) + 1 + 1 + 4 * 8;
  return MAGIC.length + 4 + fields;
}

/** Reads what follows the version. */
export function readHeader(cursor: Cursor, version: number): CaptureHeader {
  const pythonVersion = version >= 12 ? cursor.u32() : null;
  const nativeTraces = cursor.u8() !== 0;
  const format = cursor.u8();
  if (format > 1) cursor.damage();
  const nRecords = cursor.u64();
  cursor.u64(); // frames: always 0 since version 12
  const startMs = cursor.u64();
  const endMs = cursor.u64();
  const commandLine = cursor.text();
  const pid = cursor.i32();
  const mainThread = cursor.u64();
  const ownFrames = cursor.u64();
  const pythonAllocator = PYTHON_ALLOCATORS[cursor.u8()] ?? "unknown";
  const tracesPythonAllocators = cursor.u8() !== 0;
  if (version >= 12) cursor.u8(); // object lifetimes tracked
  if (version >= 13) {
    cursor.text(); // library folder
    for (let list = 0; list < 2; list++) {
      let paths = 0;
      while (cursor.text() !== "" && paths < MAX_PATHS) paths += 1;
      if (paths === MAX_PATHS) cursor.damage();
    }
  }
  if (pid < 0) cursor.damage();
  return {
    version,
    pythonVersion,
    nativeTraces,
    aggregated: format === 1,
    nRecords,
    startMs,
    endMs,
    commandLine,
    pid,
    mainThread,
    ownFrames,
    pythonAllocator,
    tracesPythonAllocators,
  };
}

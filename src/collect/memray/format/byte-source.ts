/** Bytes that come in order, from a file or out of a decoder, without ever being held as a whole. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { MrmTraceError } from "../../../errors.ts";

export interface ByteSource {
  /** Fills `into` from `position` on with at least one byte and returns how many; 0 at the end, or where `problem` began. */
  read(into: Uint8Array, position: number): number;
  /** Why the bytes ended before their end; null while that is not so. */
  readonly problem: string | null;
}

export interface FileBytes extends ByteSource, Disposable {
  /** Bytes of the file when it was opened. */
  readonly size: number;
  /** Reads at a place, without moving `read`. */
  readAt(into: Uint8Array, offset: number): number;
  /** Makes `read` give the bytes from `from` up to `stop`, and no others. */
  range(from: number, stop: number): void;
}

/** Bytes that are in memory already. */
export function bytesOf(bytes: Uint8Array): ByteSource {
  let offset = 0;
  return {
    problem: null,
    read(into, start) {
      const part = bytes.subarray(offset, offset + into.length - start);
      into.set(part, start);
      offset += part.length;
      return part.length;
    },
  };
}

/** Opens a regular file. @throws MrmTraceError usage */
export function openFileBytes(path: string): FileBytes {
  let fd: number;
  let size: number;
  try {
    fd = openSync(path, "r");
    const status = fstatSync(fd);
    if (!status.isFile()) {
      closeSync(fd);
      throw new Error("it is no regular file");
    }
    size = status.size;
  } catch (cause) {
    throw new MrmTraceError("usage", `cannot read ${path}: ${textOf(cause)}`, "give the path of a capture file", {
      cause,
    });
  }
  let offset = 0;
  let end = size;
  let problem: string | null = null;
  const readAt = (into: Uint8Array, intoAt: number, from: number, length: number): number => {
    try {
      return readSync(fd, into, intoAt, length, from);
    } catch (cause) {
      problem = `the file cannot be read at byte ${from}: ${textOf(cause)}`;
      return 0;
    }
  };
  return {
    size,
    get problem() {
      return problem;
    },
    read(into, position) {
      const length = Math.min(into.length - position, end - offset);
      if (length <= 0) return 0;
      const got = readAt(into, position, offset, length);
      offset += got;
      return got;
    },
    readAt: (into, from) => readAt(into, 0, from, Math.min(into.length, Math.max(0, size - from))),
    range(from, stop) {
      offset = from;
      end = Math.min(size, stop);
    },
    [Symbol.dispose]() {
      closeSync(fd);
    },
  };
}

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

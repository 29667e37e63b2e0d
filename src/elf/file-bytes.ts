/** The bytes of a file that others may change meanwhile, read a piece at a time: a mapping of it would end us with SIGBUS. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** Bytes that are there as a whole, or are read as they are asked for. */
export interface ByteSource {
  readonly length: number;
  /** `size` bytes from `offset` on, fewer at the end; valid until the next call. */
  slice(offset: number, size: number): Uint8Array;
}

export interface FileBytes extends ByteSource, Disposable {
  /** Leads to the very file that is read, wherever the name by which it was opened leads by then. */
  readonly heldPath: string;
  readonly inode: bigint;
}

const PIECE_BYTES = 1 << 14;
/** What is longer is read at once, and not kept. */
const LONG_BYTES = 1 << 18;
/** Pieces that are kept: 4 MiB of each file, more than the tables of a library that one lookup reads. */
const MOST_PIECES = 256;

/**
 * Opens a regular file for reading; null where it is none, is empty, or is not ours to read. Nothing else is waited for: a
 * pipe in the place of a library would hold whoever opens it. It is never opened for writing, as a file that is cannot be
 * executed.
 */
export function openFileBytes(path: string): FileBytes | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return null; // Gone, or not ours to read: for the caller both are an object that says nothing.
  }
  const stat = fstatSync(fd, { bigint: true });
  const length = Number(stat.size);
  if (!stat.isFile() || length === 0) {
    closeSync(fd);
    return null;
  }
  const pieces = new Map<number, Uint8Array>();

  /** Bytes that were read; a file may end before its size says. */
  function readInto(bytes: Uint8Array, offset: number): number {
    let done = 0;
    try {
      while (done < bytes.length) {
        const got = readSync(fd, bytes, done, bytes.length - done, offset + done);
        if (got === 0) break;
        done += got;
      }
    } catch {
      // A read error of the disk: the file says nothing there.
    }
    return done;
  }

  function piece(index: number): Uint8Array {
    const kept = pieces.get(index);
    if (kept !== undefined) return kept;
    const bytes = new Uint8Array(PIECE_BYTES);
    const got = readInto(bytes, index * PIECE_BYTES);
    const [oldest] = pieces.size < MOST_PIECES ? [] : pieces.keys();
    if (oldest !== undefined) pieces.delete(oldest);
    const found = bytes.subarray(0, got);
    pieces.set(index, found);
    return found;
  }

  return {
    heldPath: `/proc/self/fd/${fd}`,
    inode: stat.ino,
    length,
    slice(offset, size) {
      const first = Math.floor(offset / PIECE_BYTES);
      const within = offset - first * PIECE_BYTES;
      if (within + size <= PIECE_BYTES) return piece(first).subarray(within, within + size);
      const out = new Uint8Array(Math.min(size, Math.max(0, length - offset)));
      if (out.length > LONG_BYTES) return out.subarray(0, readInto(out, offset));
      for (let done = 0; done < out.length; ) {
        const place = offset + done;
        const index = Math.floor(place / PIECE_BYTES);
        const from = place - index * PIECE_BYTES;
        const part = piece(index).subarray(from, from + out.length - done);
        if (part.length === 0) return out.subarray(0, done);
        out.set(part, done);
        done += part.length;
      }
      return out;
    },
    [Symbol.dispose]() {
      pieces.clear();
      closeSync(fd);
    },
  };
}

/** A file that names its tensors: what its directory says of each, whatever the format, and how such a file is opened. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

export interface NamedTensor {
  readonly name: string;
  /** Element type in the words of the file's format, in lower case where other formats have it too. */
  readonly type: string;
  /** Elements per dimension, fastest first. */
  readonly shape: readonly number[];
  /** First byte, from the start of the file. */
  readonly offset: number;
  /** Null for a type that the reader does not know. */
  readonly bytes: number | null;
}

/** Where bytes come from; `read` may give fewer than asked when the file has shrunk. */
export interface ByteSource {
  readonly size: number;
  read(offset: number, length: number): Uint8Array;
}

export interface OpenedFile extends ByteSource {
  readonly inode: bigint;
}

/** Why bytes are no directory, and where that showed, as bytes from the start of the file. */
export interface Refusal {
  readonly ok: false;
  readonly reason: string;
  readonly offset: number;
}

const because = (cause: unknown): Refusal => ({
  ok: false,
  reason: cause instanceof Error ? cause.message : String(cause),
  offset: 0,
});

/**
 * Reads the directory of a file without reading its weights; a file that cannot be opened or is no regular file is refused too.
 * Never blocks on a pipe, never throws for what the file holds.
 */
export function readDirectory<T>(path: string, parse: (file: OpenedFile) => T | Refusal): T | Refusal {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    return because(cause);
  }
  try {
    const stat = fstatSync(fd, { bigint: true });
    if (!stat.isFile()) return { ok: false, reason: "not a regular file", offset: 0 };
    return parse({
      inode: stat.ino,
      size: Number(stat.size),
      read(offset, length) {
        const bytes = new Uint8Array(length);
        return bytes.subarray(0, readSync(fd, bytes, 0, length, offset));
      },
    });
  } catch (cause) {
    return because(cause);
  } finally {
    closeSync(fd);
  }
}

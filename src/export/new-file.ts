/** A file that comes into being whole: under another name until then, 0600, and gone where it comes to nothing. */
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, unlinkSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { PARTIAL } from "../run-directory/atomic-file.ts";
import { requirePlace } from "../run-directory/replaceable.ts";
import { unwritable } from "../run-directory/unwritable.ts";

const BUFFER_BYTES = 1 << 18;

export interface NewFile extends Disposable {
  /** Bytes that it has so far. */
  readonly size_bytes: number;
  /** Adds bytes, which may be used again afterwards. @throws MrmTraceError environment */
  write(bytes: Uint8Array): void;
  /** Puts the file in its place. @throws MrmTraceError usage, where another is there by now; environment */
  finish(): void;
}

function exists(path: string): MrmTraceError {
  return new MrmTraceError("usage", `${path} exists already`, "give --force to replace it, or another --out");
}

/** What kept us from writing, in words. */
export function outputError(path: string, cause: unknown): MrmTraceError {
  return cause instanceof MrmTraceError ? cause : unwritable(path, cause, "--out");
}

/** Gives a file its name, but not that of another. @throws as the calls do */
function placeNew(partial: string, path: string): void {
  try {
    linkSync(partial, path);
    unlinkSync(partial);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST") throw exists(path);
    // A file system without links.
    requirePlace(path, false, "--out");
    renameSync(partial, path);
  }
}

/**
 * Opens a new file beside `path`, which nobody sees there before it is whole; disposed before, nothing is left of it.
 * @param force whether a regular file, or a link in its place, may be replaced
 * @throws MrmTraceError usage, where something is there; environment, where nothing can be written
 */
export function openNewFile(path: string, force: boolean): NewFile {
  requirePlace(path, force, "--out");
  const partial = join(dirname(path), `.${basename(path)}.${process.pid}${PARTIAL}`);
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  let buffered = 0;
  let size_bytes = 0;
  let fd: number | null = null;

  function orOutputError<T>(act: () => T): T {
    try {
      return act();
    } catch (cause) {
      throw outputError(path, cause);
    }
  }

  function writeAll(bytes: Uint8Array): void {
    if (fd === null) throw new Error("it is closed");
    // A write may be short, on a filling disk for one.
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done);
  }

  function flush(): void {
    writeAll(buffer.subarray(0, buffered));
    buffered = 0;
  }

  function close(): void {
    if (fd !== null) closeSync(fd);
    fd = null;
  }

  // Only a name that nobody has is opened: no link is followed.
  fd = orOutputError(() => openSync(partial, "wx", 0o600));
  return {
    get size_bytes() {
      return size_bytes;
    },
    write(bytes) {
      orOutputError(() => {
        if (buffered + bytes.length > BUFFER_BYTES) flush();
        if (bytes.length > BUFFER_BYTES) writeAll(bytes);
        else {
          buffer.set(bytes, buffered);
          buffered += bytes.length;
        }
        size_bytes += bytes.length;
      });
    },
    finish() {
      orOutputError(() => {
        flush();
        if (fd !== null) fsyncSync(fd);
        close();
        if (force) renameSync(partial, path);
        else placeNew(partial, path);
      });
    },
    [Symbol.dispose]() {
      close();
      rmSync(partial, { force: true });
    },
  };
}

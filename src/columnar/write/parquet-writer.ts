/** Batches to zstd Parquet files. */
import { closeSync, fsyncSync, openSync, renameSync, unlinkSync, writeSync, writevSync } from "node:fs";
import { MrmTraceError } from "../../errors.ts";
import type { TableName } from "../../schema/columns.ts";
import type { Encodable } from "./encodable.ts";
import { fileMetadata } from "./file-metadata.ts";
import { parquetFile } from "./parquet-file.ts";

export interface ParquetWriter {
  /** Writes the rows as one row group. @throws MrmTraceError environment, whose cause has the errno in `code`; failure, where the rows do not fit */
  add(rows: Encodable): void;
  /** Ends the file and waits until the disk has it, still under its temporary name; returns its bytes. @throws as `add` */
  seal(): number;
  /** Puts a sealed file in place. @throws as `add` */
  place(): void;
  /** Ends the file and puts it in place; returns its bytes. @throws MrmTraceError as `add` does */
  finish(): number;
  /** Removes what was written; nothing happens to a file in its place. */
  [Symbol.dispose](): void;
}

/**
 * Opens a Parquet file of mode 0600 under a temporary name, which it keeps until it is finished.
 *
 * @throws MrmTraceError environment, whose cause has the errno in `code`; failure, where the rows do not fit
 */
export function openParquetWriter(
  path: string,
  table: TableName,
  keyValues: ReadonlyMap<string, string> = new Map(),
): ParquetWriter {
  const partial = `${path}.partial`;
  let fd = -1;
  const guarded = <T>(act: () => T): T => {
    try {
      return act();
    } catch (cause) {
      if (cause instanceof MrmTraceError) throw cause;
      // What the system refuses is the disk's; all else would be ours.
      const isSystem = cause instanceof Error && "code" in cause;
      throw new MrmTraceError(
        isSystem ? "environment" : "failure",
        `cannot write ${path}: ${cause instanceof Error ? cause.message : String(cause)}`,
        "free some space, or name another folder with --output",
        { cause },
      );
    }
  };
  const file = guarded(() => {
    fd = openNew(partial);
    return parquetFile(table, new Map([...fileMetadata(table), ...keyValues]), (pieces) => writeAll(fd, pieces));
  });
  const end = (act: () => void): number => {
    const bytes = file.finish();
    act();
    closeSync(fd);
    fd = -1;
    return bytes;
  };
  const place = (): void => renameSync(partial, path);
  return {
    add: (rows) => guarded(() => file.add(rows)),
    seal: () => guarded(() => end(() => fsyncSync(fd))),
    place: () => guarded(place),
    finish: () =>
      guarded(() => {
        const bytes = end(() => {});
        place();
        return bytes;
      }),
    [Symbol.dispose]() {
      try {
        if (fd >= 0) closeSync(fd);
        fd = -1;
        removeIfThere(partial);
      } catch {
        // What made the writer give up says more than this.
      }
    },
  };
}

/**
 * Writes one Parquet file of mode 0600 under a temporary name, and renames it.
 *
 * @returns bytes written
 * @throws MrmTraceError environment, whose cause has the errno in `code`; failure, where the rows do not fit. Nothing is left behind.
 */
export function writeParquetFile(
  path: string,
  table: TableName,
  batches: readonly Encodable[],
  keyValues: ReadonlyMap<string, string> = new Map(),
): number {
  using writer = openParquetWriter(path, table, keyValues);
  for (const batch of batches) writer.add(batch);
  return writer.finish();
}

function writeAll(fd: number, pieces: readonly Uint8Array[]): void {
  let written = writevSync(fd, pieces);
  // What one call did not take.
  for (const piece of pieces) {
    for (let offset = Math.min(written, piece.length); offset < piece.length; ) offset += writeSync(fd, piece, offset);
    written = Math.max(0, written - piece.length);
  }
}

/** Opens a file that nobody had before: the mode is honoured only for one that the call creates. */
function openNew(path: string): number {
  try {
    return openSync(path, "wx", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    unlinkSync(path);
    return openSync(path, "wx", 0o600);
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/** Writes a file so that a reader sees the old one or the new one, never a part. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { unwritable } from "./unwritable.ts";

/** Ending of files that are being written; whoever finds one may remove it. */
export const PARTIAL = ".partial";

/**
 * Writes text to a new file of mode 0600 beside `path`, then renames it.
 * @param option that names the file, or the folder that it is in
 * @throws MrmTraceError environment where the folder cannot be written or is full; the old file is then untouched
 */
export function writeFileAtomic(path: string, text: string, option = "--output"): void {
  const partial = `${path}.${process.pid}${PARTIAL}`;
  try {
    const fd = openSync(partial, "wx", 0o600);
    try {
      const bytes = Buffer.from(text);
      for (let offset = 0; offset < bytes.length; ) offset += writeSync(fd, bytes, offset);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(partial, path);
  } catch (cause) {
    rmSync(partial, { force: true });
    throw unwritable(path, cause, option);
  }
}

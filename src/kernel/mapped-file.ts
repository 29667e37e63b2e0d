/** A file mapped read-only: only the pages that are looked at cost memory. */
import { closeSync, fstatSync, openSync } from "node:fs";
import { type Mapped, mapFd } from "./mapped.ts";

/**
 * Maps a regular file; null where it cannot be opened or is empty. Bun.mmap would open it for writing, and no program
 * can be executed while its file or its loader is open for writing (ETXTBSY), on the whole machine.
 * Like the process that runs it, the reader does not survive that the file is cut short meanwhile.
 */
export function mapFile(path: string): Mapped | null {
  let fd: number | null = null;
  try {
    fd = openSync(path, "r");
    const stat = fstatSync(fd);
    return stat.isFile() && stat.size > 0 ? mapFd(fd, stat.size, { write: false }) : null;
  } catch {
    return null; // Gone, or not ours to read: for the caller both are an object that says nothing.
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

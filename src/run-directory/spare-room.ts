/** Room that is taken while there is some, so that a text can be written on a disk that is full by then. */
import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { PARTIAL, writeFileAtomic } from "./atomic-file.ts";

const LEAST_BYTES = 64 * 1024;

const spareOf = (path: string): string => `${path}.spare${PARTIAL}`;

/** Takes room for twice a text that will be written to `path`, beside it. @throws MrmTraceError environment, where there is none */
export function takeSpareRoom(path: string, text: string): void {
  // A text of blanks: room is what the disk gave for something that was written.
  writeFileAtomic(spareOf(path), " ".repeat(Math.max(LEAST_BYTES, 2 * text.length)));
}

export function hasSpareRoom(path: string): boolean {
  return existsSync(spareOf(path));
}

export function giveSpareRoom(path: string): void {
  rmSync(spareOf(path), { force: true });
}

/** Writes the text where room was taken for it, and puts that in place of the file. @throws as the calls do */
export function writeInSpareRoom(path: string, text: string): void {
  const spare = spareOf(path);
  const fd = openSync(spare, "r+");
  try {
    const bytes = Buffer.from(text);
    for (let offset = 0; offset < bytes.length; ) offset += writeSync(fd, bytes, offset, bytes.length - offset, offset);
    ftruncateSync(fd, bytes.length);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(spare, path);
}

/** A text file that grows by whole lines: what was written stays readable whenever the writer dies. */
import { closeSync, ftruncateSync, openSync, unlinkSync, writeSync } from "node:fs";
import { MrmTraceError } from "../errors.ts";
import { requireReplaceable } from "../run-directory/replaceable.ts";
import { unwritable } from "../run-directory/unwritable.ts";

export interface LineFile extends Disposable {
  /** Writes a line and its end at once. @throws MrmTraceError environment; the lines before it stay whole */
  write(line: string): void;
}

const OPTION = "--output";

/**
 * Makes a new file of mode 0600; a file that is there is replaced only when `force` says so, a link never followed, a
 * device never removed.
 * @throws MrmTraceError usage where something is there, environment where the file cannot be made
 */
export function createLineFile(path: string, force: boolean): LineFile {
  let fd: number;
  requireReplaceable(path, "name another --output, or leave it out for stdout", OPTION);
  try {
    if (force) removeIfThere(path);
    fd = openSync(path, "wx", 0o600);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw unwritable(path, cause, OPTION);
    throw new MrmTraceError("usage", `${path} is there already`, "give --force to replace it, or another --output", {
      cause,
    });
  }
  let length = 0;
  return {
    write(line) {
      const bytes = Buffer.from(`${line}\n`);
      try {
        for (let offset = 0; offset < bytes.length; ) offset += writeSync(fd, bytes, offset);
        length += bytes.length;
      } catch (cause) {
        ftruncateSync(fd, length);
        throw unwritable(path, cause, OPTION);
      }
    },
    [Symbol.dispose]() {
      closeSync(fd);
    },
  };
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

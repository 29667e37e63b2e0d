/** A file that a verb makes of a finished run: mode 0600, whole or not at all, and never over anything but a file. */
import { MrmTraceError } from "../../errors.ts";
import { writeFileAtomic } from "../../run-directory/atomic-file.ts";
import { requireReplaceable } from "../../run-directory/replaceable.ts";

/** @param option that named it @throws MrmTraceError usage where something else lies there, environment where it cannot be written */
export function writeResult(path: string, text: string, option: string): void {
  const hint = `name another file with ${option}`;
  requireReplaceable(path, hint);
  try {
    writeFileAtomic(path, text);
  } catch (error) {
    if (!(error instanceof MrmTraceError)) throw error;
    throw new MrmTraceError(error.code, error.message, `free space there, or ${hint}`, { cause: error.cause });
  }
}

/** A file that a verb makes of a finished run: mode 0600, whole or not at all, and over no file of another unless it is told so. */
import { writeFileAtomic } from "../../run-directory/atomic-file.ts";
import { requirePlace } from "../../run-directory/replaceable.ts";

/**
 * @param option that named it
 * @param force whether a file that is there may be replaced
 * @throws MrmTraceError usage where something lies there, environment where it cannot be written
 */
export function writeResult(path: string, text: string, option: string, force: boolean): void {
  requirePlace(path, force, option);
  writeFileAtomic(path, text, option);
}

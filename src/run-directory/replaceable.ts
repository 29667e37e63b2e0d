/** What may be replaced by a file: nothing, a regular file, or a link to one; never a device, a pipe, a socket or a folder. */
import { lstatSync, statSync } from "node:fs";
import { MrmTraceError } from "../errors.ts";

/**
 * Checks the place of a file that is about to be made.
 * @param hint what to give in place of the path
 * @throws MrmTraceError usage, where something other than a regular file lies there, also behind a link
 */
export function requireReplaceable(path: string, hint: string): void {
  const there = lstatSync(path, { throwIfNoEntry: false });
  const meant = there?.isSymbolicLink() ? statSync(path, { throwIfNoEntry: false }) : there;
  if (meant === undefined || meant.isFile()) return;
  throw new MrmTraceError("usage", `${path} is no regular file`, hint);
}

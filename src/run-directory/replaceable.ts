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

/**
 * Checks the place of a file that a user named for us to make: another's is replaced by nothing but `--force`.
 * @param option that named it
 * @throws MrmTraceError usage, where anything lies there and it was not to be replaced, or it is no regular file
 */
export function requirePlace(path: string, force: boolean, option: string): void {
  requireReplaceable(path, `name another file with ${option}`);
  if (force || lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  throw new MrmTraceError("usage", `${path} exists already`, `give --force to replace it, or another ${option}`);
}

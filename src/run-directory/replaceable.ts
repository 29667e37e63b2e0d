/** What may be replaced by a file: nothing, a regular file, or a link to one; never a device, a pipe, a socket or a folder. */
import { lstatSync, type Stats, statSync } from "node:fs";
import { basename } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { unwritable } from "./unwritable.ts";

/** What has the name, be it a link; undefined where nothing has. @throws MrmTraceError environment, where nobody may look */
export function thereAt(path: string, option: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw unwritable(path, cause, option);
  }
}

/**
 * Checks the place of a file that is about to be made.
 * @param hint what to give in place of the path
 * @param option that named it
 * @throws MrmTraceError usage, where something other than a regular file lies there, also behind a link; environment
 */
export function requireReplaceable(path: string, hint: string, option = "--out"): void {
  if (basename(path) === "-") {
    const message = '"-" is no file, and nothing is written to standard output by that name';
    throw new MrmTraceError("usage", message, hint);
  }
  const there = thereAt(path, option);
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
  requireReplaceable(path, `name another file with ${option}`, option);
  if (force || thereAt(path, option) === undefined) return;
  throw new MrmTraceError("usage", `${path} exists already`, `give --force to replace it, or another ${option}`);
}

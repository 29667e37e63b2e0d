/** What is said of a file that cannot be written: the reason in words, and what helps against that reason. */
import { MrmTraceError, reasonText } from "../errors.ts";

/** True for an error of a disk, or of a user's share of one, that is full. */
export function isFull(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT";
}

/** @param option that names the file, or the folder that it is in */
export function unwritable(path: string, cause: unknown, option: string): MrmTraceError {
  const hint = isFull(cause)
    ? `free space on that disk, or name a place on another with ${option}`
    : `name a place in a folder that exists and that you may write to with ${option}`;
  return new MrmTraceError("environment", `${path} cannot be written: ${reasonText(cause)}`, hint, { cause });
}

/** What is said where standard output takes no more of a result. */
import { MrmTraceError, reasonText } from "../../errors.ts";
import { isFull } from "../../run-directory/unwritable.ts";

/** The error for what the system said of a write; null where its reader is gone, who wants no more. */
export function unwritten(cause: unknown): MrmTraceError | null {
  if (cause instanceof Error && "code" in cause && cause.code === "EPIPE") return null;
  const isClosed = cause instanceof Error && "code" in cause && cause.code === "EBADF";
  return new MrmTraceError(
    isFull(cause) || isClosed ? "environment" : "failure",
    `the result cannot be written to standard output: ${isClosed ? "it is closed" : reasonText(cause)}`,
    "make room where it goes, or send it elsewhere, such as: > /tmp/result",
    { cause },
  );
}

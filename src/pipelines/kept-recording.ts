/** What is said where results found no room: what was recorded is still there, and gives them later. */
import { MrmTraceError } from "../errors.ts";
import { isFull } from "../run-directory/spare-room.ts";

/** The error of deriving; of a disk that is full with the command that derives the results once there is room. */
export function keepsRecording(error: unknown, runDir: string): unknown {
  const isOurs = error instanceof MrmTraceError;
  const cause = isOurs ? error.cause : error;
  if (!(error instanceof Error) || !isFull(cause)) return error;
  const message = isOurs ? error.message : `the results cannot be written: ${error.message}`;
  const hint = `free some space; what was recorded is kept: mrm-trace analyse ${runDir}, or of a copy of that folder on another disk`;
  return new MrmTraceError("environment", message, hint, { cause });
}

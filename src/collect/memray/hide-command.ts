/** The command line in the header of a memray capture: memray writes it as it was typed, and it is not ours to keep so. */
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import type { CommandRecording } from "../../config/schema.ts";
import { recordedCommandText } from "../../run-directory/recorded-command.ts";
import { openCapture } from "./format/capture-file.ts";
import { commandLineOffset } from "./format/header.ts";

/** The text in exactly so many bytes: spaces behind a shorter one; the end of a longer one is cut. */
function inBytes(text: string, length: number): Uint8Array {
  const bytes = new Uint8Array(length).fill(0x20);
  bytes.set(new Uint8Array(Buffer.from(text)).subarray(0, length));
  return bytes;
}

/**
 * Writes the command line as it may be kept over the one in the file, in as many bytes.
 * @returns false where there is something to hide and the file is compressed, so that nothing was changed
 * @throws MrmTraceError as openCapture does, where it is no capture
 */
export function hideCommand(path: string, how: CommandRecording): boolean {
  using capture = openCapture(path);
  const { commandLine, version } = capture.header;
  const kept = recordedCommandText(commandLine, how);
  if (kept === commandLine) return true;
  if (capture.compressed) return false;
  const fd = openSync(path, "r+");
  try {
    const offset = commandLineOffset(version);
    const typed = new Uint8Array(capture.window.before);
    const length = typed.subarray(0, readSync(fd, typed, 0, typed.length, offset)).indexOf(0);
    if (length > 0) writeSync(fd, inBytes(kept, length), 0, length, offset);
  } finally {
    closeSync(fd);
  }
  return true;
}

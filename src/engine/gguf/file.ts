/** The directory of a GGUF file on disk. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { type GgufResult, parseGgufSource } from "./directory.ts";

/**
 * Reads the directory of a file without reading its weights; a file that cannot be opened or is no regular file is a failure too.
 * Never blocks on a pipe, never throws for what the file holds.
 */
export function readGgufFile(path: string): GgufResult {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    return { ok: false, reason: cause instanceof Error ? cause.message : String(cause), offset: 0 };
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return { ok: false, reason: "not a regular file", offset: 0 };
    return parseGgufSource({
      size: stat.size,
      read(offset, length) {
        const bytes = new Uint8Array(length);
        return bytes.subarray(0, readSync(fd, bytes, 0, length, offset));
      },
    });
  } catch (cause) {
    return { ok: false, reason: cause instanceof Error ? cause.message : String(cause), offset: 0 };
  } finally {
    closeSync(fd);
  }
}

/** `general.name` of a GGUF file, null where the file has none or is no GGUF. */
export function generalName(path: string): string | null {
  const result = readGgufFile(path);
  const name = result.ok ? result.directory.metadata.get("general.name") : undefined;
  return typeof name === "string" && name !== "" ? name : null;
}

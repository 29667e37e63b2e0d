/** The directory of a GGUF file on disk. */
import { readDirectory } from "../tensor-file.ts";
import { type GgufResult, parseGgufSource } from "./directory.ts";

/** Reads the directory of a file as `readDirectory` does. */
export function readGgufFile(path: string): GgufResult {
  return readDirectory(path, (file) => parseGgufSource(file));
}

/** `general.name` of a GGUF file, null where the file has none or is no GGUF. */
export function generalName(path: string): string | null {
  const result = readGgufFile(path);
  const name = result.ok ? result.directory.metadata.get("general.name") : undefined;
  return typeof name === "string" && name !== "" ? name : null;
}

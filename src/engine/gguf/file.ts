/** The directory of a GGUF file on disk. */
import { readDirectory } from "../tensor-file.ts";
import { type GgufResult, isGguf, parseGgufSource } from "./directory.ts";

/** Reads the directory of a file as `readDirectory` does. @param inode that it must have, where the path may lead to another by now */
export function readGgufFile(path: string, inode?: bigint): GgufResult {
  return readDirectory<GgufResult>(path, (file) => {
    if (inode === undefined || file.inode === inode) return parseGgufSource(file);
    return { ok: false, reason: "another file has its name now", offset: 0 };
  });
}

/** True for a file of this inode that begins as a GGUF does; of no other file is anything read. */
export function beginsAsGguf(path: string, inode: bigint): boolean {
  const result = readDirectory(path, (file) => ({ ok: file.inode === inode && isGguf(file.read(0, 4)) }));
  return result.ok;
}

/** `general.name` of a GGUF file, null where the file has none or is no GGUF. */
export function generalName(path: string): string | null {
  const result = readGgufFile(path);
  const name = result.ok ? result.directory.metadata.get("general.name") : undefined;
  return typeof name === "string" && name !== "" ? name : null;
}

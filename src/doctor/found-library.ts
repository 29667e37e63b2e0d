/** Libraries of engines that were found here, each file once. */
import { statSync } from "node:fs";
import { openFileBytes } from "../elf/file-bytes.ts";

export interface FoundLibrary {
  /** Package and version, else the name of the file. */
  readonly name: string;
  readonly path: string;
  /** The other files that have its functions. */
  readonly parts: readonly string[];
}

const MOST_FOUND = 8;

/** The file that a path leads to, by what the kernel calls it; null where it is none, or not ours to read. */
function fileOf(path: string): string | null {
  using bytes = openFileBytes(path);
  if (bytes === null) return null;
  const { dev, ino } = statSync(bytes.heldPath);
  return `${dev}:${ino}`;
}

/** By the first place that leads to each file, a bounded number of them. */
export function eachFileOnce(libraries: readonly FoundLibrary[]): FoundLibrary[] {
  const found = new Map<string, FoundLibrary>();
  for (const library of libraries) {
    if (found.size === MOST_FOUND) break;
    const file = fileOf(library.path);
    if (file !== null && !found.has(file)) found.set(file, library);
  }
  return [...found.values()];
}

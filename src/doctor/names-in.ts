/** Names in a folder that anybody may fill: a bounded number of them, and none where it is not ours to read. */
import { opendirSync } from "node:fs";

/** More than the packages of a large environment. */
const MOST_NAMES = 8192;

/** In order of their text. */
export function namesIn(folder: string, wanted: RegExp): string[] {
  const names: string[] = [];
  try {
    const entries = opendirSync(folder);
    try {
      for (let seen = 0; seen < MOST_NAMES; seen++) {
        const entry = entries.readSync();
        if (entry === null) break;
        if (wanted.test(entry.name)) names.push(entry.name);
      }
    } finally {
      entries.closeSync();
    }
  } catch {
    // No such folder, or not ours to read.
  }
  return names.sort();
}

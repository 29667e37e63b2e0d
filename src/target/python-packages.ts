/** Where the packages of a Python lie, which is that of its environment where it is in one; no Python is run. */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

/** Folders of a package; none where it is not there, or not ours to see. @param python path of the program */
export function packageFolders(python: string, name: string): string[] {
  const library = join(dirname(dirname(python)), "lib");
  let versions: string[];
  try {
    versions = readdirSync(library).filter((folder) => /^python3/.test(folder));
  } catch {
    // No such folder, or not ours to read.
    return [];
  }
  const folders = versions.flatMap((version) =>
    ["site-packages", "dist-packages"].map((kind) => join(library, version, kind, name)),
  );
  return folders.filter((folder) => existsSync(folder));
}

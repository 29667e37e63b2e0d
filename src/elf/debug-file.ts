/** Debugging data that lies in a file of its own: found as debuggers find it, by the build id or by the name that is left in the object. */
import { basename, dirname, join } from "node:path";
import type { ByteView } from "./byte-view.ts";
import type { Section } from "./sections.ts";

const SYSTEM_FOLDER = "/usr/lib/debug";
const LONGEST_NAME_BYTES = 255;

/** The name in .gnu_debuglink; null where there is none, or where it is no plain name. */
export function readDebugLink(view: ByteView, sections: readonly Section[]): string | null {
  const section = sections.find(({ name }) => name === ".gnu_debuglink");
  const name = section === undefined ? null : view.text(section.offset, LONGEST_NAME_BYTES);
  return name === null || name === "" || name === ".." || name === "." || basename(name) !== name ? null : name;
}

/** Where it may lie, in the order of debuggers. @param path of the object, as the program sees it */
export function debugPaths(path: string, buildId: string, link: string | null): string[] {
  const folder = dirname(path);
  const byId = join(SYSTEM_FOLDER, ".build-id", buildId.slice(0, 2), `${buildId.slice(2)}.debug`);
  if (link === null) return [byId];
  return [byId, join(folder, link), join(folder, ".debug", link), join(SYSTEM_FOLDER, folder, link)];
}

/** Folders of packages that the Pythons here import from: of those on PATH, of an active environment, and the user's own; none is run. */
import { realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { namesIn } from "./names-in.ts";

export interface PythonPlaces {
  /** Folders of PATH. */
  readonly path: readonly string[];
  /** Folders of active environments. */
  readonly environments: readonly string[];
  /** Home of who asks; null where nobody knows it. */
  readonly home: string | null;
}

const PYTHON = /^python3(?:\.\d{1,3})?$/;
const VERSION = /^\d[\w.+!-]{0,60}$/;
const DIST_INFO = ".dist-info";
const MOST_PREFIXES = 64;

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false; // Not there, or not ours to see.
  }
}

/** Folders below which a Python of a folder of PATH has its libraries. */
function prefixesOf(folder: string): string[] {
  if (!isAbsolute(folder) || !["python3", "python"].some((name) => isFile(join(folder, name)))) return [];
  const prefix = dirname(folder);
  // What pyenv puts on PATH stands for any of its versions.
  if (basename(folder) === "shims")
    return namesIn(join(prefix, "versions"), /^\w/).map((name) => join(prefix, "versions", name));
  // Debian's Python looks there for what pip installs.
  return prefix === "/usr" ? [prefix, "/usr/local"] : [prefix];
}

function rootsBelow(library: string): string[] {
  return namesIn(library, PYTHON).flatMap((python) =>
    ["site-packages", "dist-packages"].map((kind) => join(library, python, kind)),
  );
}

/** Folders below which the Pythons here have their libraries, each once, in the order in which they are looked through. */
export function pythonPrefixes({ path, environments }: Omit<PythonPlaces, "home">): string[] {
  return [...new Set([...environments, ...path.flatMap(prefixesOf)])].slice(0, MOST_PREFIXES);
}

/** Each once, in the order in which they are looked through. */
export function packageRoots({ home, ...places }: PythonPlaces): string[] {
  const libraries = pythonPrefixes(places).flatMap((prefix) => [join(prefix, "lib"), join(prefix, "lib64")]);
  if (home !== null) libraries.push(join(home, ".local", "lib"));
  const roots = new Map<string, string>();
  for (const root of libraries.flatMap(rootsBelow)) {
    try {
      const real = realpathSync(root);
      if (!roots.has(real)) roots.set(real, root);
    } catch {
      // Not there: a Python has one of the two.
    }
  }
  return [...roots.values()];
}

/** The version of a package whose folder of metadata begins so; null where a root has none. */
export function packageVersion(root: string, begin: string): string | null {
  const names = namesIn(root, new RegExp(`^${begin}-[\\w.+!-]{1,60}\\${DIST_INFO}$`));
  const versions = names.map((name) => name.slice(begin.length + 1, -DIST_INFO.length));
  return versions.find((version) => VERSION.test(version)) ?? null;
}

/** The version of Python whose packages lie in a root; null where its folder is that of all versions. */
export function pythonOf(root: string): string | null {
  return /^python(3\.\d{1,3})$/.exec(basename(dirname(root)))?.[1] ?? null;
}

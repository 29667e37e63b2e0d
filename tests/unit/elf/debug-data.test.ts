import { describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { debugDataOf, type FoundDebugData } from "../../../src/elf/debug-data.ts";
import { debugPaths } from "../../../src/elf/debug-file.ts";
import { readElf } from "../../../src/elf/elf.ts";
import { openFileBytes } from "../../../src/elf/file-bytes.ts";
import { compileDebugged, toolOutput } from "../../fixtures/with-debug-data.ts";

function dataOf(path: string, root = ""): FoundDebugData {
  using bytes = openFileBytes(`${root}${path}`);
  const elf = bytes === null ? null : readElf(bytes);
  if (!elf?.ok) throw new Error(`${path} cannot be read`);
  return debugDataOf(elf, path, root, ["within"]);
}

/** A program whose debugging data was moved into a file beside it. */
function divided(...flags: string[]): { readonly program: string; readonly debug: string } {
  const program = compileDebugged("layouts", "cc", "-gdwarf-5", ...flags);
  const debug = `${program}.debug`;
  toolOutput("objcopy", "--only-keep-debug", program, debug);
  toolOutput("objcopy", "--strip-debug", `--add-gnu-debuglink=${debug}`, program);
  return { program, debug };
}

describe("debugging data in a file of its own", () => {
  test("is found beside the program, and below the root that the program sees", () => {
    const { program, debug } = divided();
    expect(dataOf(program)).toMatchObject({ ok: true, path: debug, untold: null });
    const root = mkdtempSync(join(tmpdir(), "mrm-root-"));
    mkdirSync(join(root, "lib", ".debug"), { recursive: true });
    copyFileSync(program, join(root, "lib", "program"));
    expect(dataOf("/lib/program", root)).toEqual({ ok: false, asked: ["within"], reason: null });
    copyFileSync(debug, join(root, "lib", ".debug", basename(debug)));
    expect(dataOf("/lib/program", root)).toMatchObject({ ok: true, path: `/lib/.debug/${basename(debug)}` });
  });

  test("is that of this build alone, and no other file of the name", () => {
    const { program, debug } = divided();
    copyFileSync(divided("-O2").debug, debug);
    expect(dataOf(program)).toEqual({ ok: false, asked: ["within"], reason: null });
    writeFileSync(debug, "no ELF file");
    expect(dataOf(program)).toMatchObject({ ok: false, reason: null });
  });

  test("is looked for where debuggers do", () => {
    const folder = dirname("/opt/lib/engine.so");
    expect(debugPaths("/opt/lib/engine.so", "abcdef", "engine.debug")).toEqual([
      "/usr/lib/debug/.build-id/ab/cdef.debug",
      `${folder}/engine.debug`,
      `${folder}/.debug/engine.debug`,
      `/usr/lib/debug${folder}/engine.debug`,
    ]);
    expect(debugPaths("/opt/lib/engine.so", "abcdef", null)).toHaveLength(1);
  });
});

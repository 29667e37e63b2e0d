import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { type ElfFile, readElf } from "../../../../src/elf/elf.ts";
import { compileDebugged, toolOutput } from "../../../fixtures/with-debug-data.ts";

function open(path: string): ElfFile {
  const elf = readElf(new Uint8Array(readFileSync(path)));
  if (!elf.ok) throw new Error(elf.reason);
  return elf;
}

const KINDS: readonly (readonly ["cc" | "c++", ...string[]])[] = [
  ["cc", "-gdwarf-4"],
  ["cc", "-gdwarf-5"],
  ["c++", "-gdwarf-4"],
  ["c++", "-gdwarf-5"],
  ["cc", "-gdwarf-5", "-gz=zlib"],
  ["cc", "-gdwarf-5", "-gdwarf64"],
  ["c++", "-gdwarf-5", "-flto"],
];

describe("structures by debugging data", () => {
  test.each(KINDS)("are as the program has them that %s makes with %s %s", (compiler, ...flags) => {
    const path = compileDebugged("layouts", compiler, ...flags.filter(Boolean));
    const { bytes, ...members } = JSON.parse(toolOutput(path));
    const found = open(path).definitions(["layout", "within", "shade"]);
    if (!found.ok) throw new Error(found.reason);
    expect(found.untold).toBeNull();
    const layout = found.structures.get("layout");
    expect(layout?.bytes).toBe(bytes);
    const told = [...(layout?.members ?? [])].filter(([name]) => name !== "bit");
    expect(Object.fromEntries(told.map(([name, one]) => [name, [one.offset, one.bytes]]))).toEqual(members);
    expect([...(found.structures.get("within")?.members ?? [])]).toEqual([["letters", { offset: 0, bytes: 3 }]]);
    expect(Object.fromEntries(found.enumerations.get("shade") ?? [])).toEqual({
      SHADE_DARK: 3,
      SHADE_LIGHT: 4,
      SHADE_NONE: -1,
      SHADE_MANY: 70000,
    });
  });

  test("are told without those that are only declared, or not there, which are named", () => {
    const elf = open(compileDebugged("layouts", "cc", "-gdwarf-5"));
    expect(elf.definitions(["within", "only_declared", "no_such_name"])).toMatchObject({
      ok: true,
      untold: "only_declared, no_such_name: not defined in its debugging data",
    });
    expect(elf.definitions(["only_declared"])).toEqual({
      ok: false,
      hasNone: false,
      reason: "only_declared: not defined in its debugging data",
    });
  });

  test("have places without sizes where a type is named by a signature", () => {
    const found = open(compileDebugged("layouts", "c++", "-gdwarf-5", "-fdebug-types-section")).definitions(["layout"]);
    const members = found.ok ? found.structures.get("layout")?.members : undefined;
    expect(members?.get("shade")).toEqual({ offset: 16, bytes: null });
    expect(members?.get("matrix")).toEqual({ offset: 32, bytes: 80 });
  });

  test("are none in a program without debugging data, and a reason where it is of another version or elsewhere", () => {
    expect(open(compileDebugged("layouts", "cc")).definitions(["layout"])).toMatchObject({ ok: false, hasNone: true });
    const older = open(compileDebugged("layouts", "cc", "-gdwarf-3")).definitions(["layout"]);
    expect(older).toMatchObject({ reason: expect.stringMatching(/^layout: \d+ of its units are of other versions/) });
    const split = open(compileDebugged("layouts", "cc", "-gdwarf-5", "-gsplit-dwarf")).definitions(["layout"]);
    expect(split).toMatchObject({ reason: expect.stringMatching(/^layout: \d+ of its units have their entries in/) });
  });
});

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { LIBBPF_SYMBOLS } from "../../../src/kernel/libbpf.ts";

/** Every function prototype of the installed headers: name to number of arguments. */
function prototypes(): Map<string, number> {
  const found = new Map<string, number>();
  for (const header of ["libbpf.h", "bpf.h", "libbpf_legacy.h"]) {
    const text = readFileSync(`/usr/include/bpf/${header}`, "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
    for (const match of text.matchAll(/LIBBPF_API[^;]*?\b((?:lib)?bpf_\w+)\s*\(([^;]*)\)\s*;/g)) {
      const list = (match[2] ?? "").trim();
      found.set(match[1] ?? "", list === "void" || list === "" ? 0 : list.split(",").length);
    }
  }
  return found;
}

describe("the libbpf functions we declare", () => {
  const known = prototypes();
  for (const [name, { args }] of Object.entries(LIBBPF_SYMBOLS)) {
    test(`${name} stands in the header with ${args.length} arguments`, () => {
      expect(known.get(name)).toBe(args.length);
    });
  }
});

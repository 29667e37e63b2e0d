import { expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generatedFiles } from "../../../scripts/generated.ts";
import { cHeader } from "../../../src/schema/c-header.ts";

const PRELUDE =
  "typedef unsigned long long __u64; typedef long long __s64; typedef unsigned int __u32; typedef int __s32; typedef unsigned short __u16; typedef unsigned char __u8;\n";

function compiles(text: string): boolean {
  const file = join(mkdtempSync(join(tmpdir(), "mrm-header-")), "columns.h");
  writeFileSync(file, PRELUDE + text);
  return Bun.spawnSync(["cc", "-fsyntax-only", "-x", "c", file], { stderr: "ignore" }).exitCode === 0;
}

test("every generated file equals what its table gives", async () => {
  for (const [path, text] of await generatedFiles()) {
    expect([path, await Bun.file(new URL(`../../../${path}`, import.meta.url)).text()]).toEqual([path, text]);
  }
});

test("the C header states its own offsets, and a wrong one does not compile", () => {
  expect(compiles(cHeader())).toBe(true);
  expect(compiles(cHeader().replace("__u64 address[BLOCK_ROWS]", "__u32 address[BLOCK_ROWS]"))).toBe(false);
  expect(compiles(cHeader().replace("__u16 capture;", "__u32 capture;"))).toBe(false);
});

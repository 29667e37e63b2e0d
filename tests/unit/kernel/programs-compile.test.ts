/** The programs of the kernel side, for both processors: nothing else here compiles them for the one that this is not. */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";

const BPF = new URL("../../../bpf", import.meta.url).pathname;
const HEADERS = `/usr/include/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`;
const clang = Bun.which("clang-19") ?? Bun.which("clang");
if (clang === null)
  process.stderr.write("skipped: there is no clang to compile the programs of the kernel side with\n");

const sources = readdirSync(BPF).filter((name) => name.endsWith(".bpf.c"));

for (const architecture of ["x86", "arm64"]) {
  test.skipIf(clang === null)(`every program of the kernel side compiles for ${architecture}`, () => {
    expect(sources).toContain("faults.bpf.c");
    const words = ["-target", "bpf", "-O2", "-mcpu=v3", "-Wall", "-Werror", `-D__TARGET_ARCH_${architecture}`];
    for (const source of sources) {
      const paths = ["-I", BPF, "-I", HEADERS, "-fsyntax-only", join(BPF, source)];
      const { exitCode, stderr } = Bun.spawnSync([clang ?? "", ...words, ...paths]);
      expect([source, exitCode, stderr.toString()]).toEqual([source, 0, ""]);
    }
  });
}

import { expect, test } from "bun:test";

const ROOT = new URL("../../../", import.meta.url).pathname;
const clang = Bun.which("clang-19") ?? Bun.which("clang");
if (clang === null)
  process.stderr.write("skipped: the order of a ring's words is read from what clang makes, and there is none\n");

/** The kernel's instructions for the programs of the benchmark, as text. */
function assembly(architecture: string): string {
  const include = [
    "-I",
    `${ROOT}/bpf`,
    "-I",
    `/usr/include/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`,
  ];
  const made = Bun.spawnSync(
    [
      clang ?? "",
      "-g",
      "-target",
      "bpf",
      "-O2",
      "-mcpu=v3",
      `-D__TARGET_ARCH_${architecture}`,
      ...include,
      "-S",
      "-o",
      "-",
      `${ROOT}/bpf/bench.bpf.c`,
    ],
    { stdout: "pipe", stderr: "pipe" },
  );
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  return made.stdout.toString();
}

const exchanges = (text: string): number => text.match(/xchg/g)?.length ?? 0;

test.skipIf(clang === null)(
  "a row is published by an atomic where the processor does not keep the order of stores",
  () => {
    const [x86, arm64] = ["x86", "arm64"].map((architecture) => exchanges(assembly(architecture)));
    expect(x86).toBeGreaterThan(0);
    // Head by one everywhere; the count of the open block by another.
    expect(arm64).toBe(2 * (x86 ?? 0));
  },
);

/** The benchmark command: its figures are there and add up; how large they are is for the machine to say. */
import { expect, test } from "bun:test";
import type { BenchRow } from "../../performance/bench-row.ts";

const SCRIPT = new URL("../../../scripts/bench.ts", import.meta.url).pathname;

async function bench(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = Bun.spawn([process.execPath, SCRIPT, ...args], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, stdout, stderr };
}

interface Printed {
  readonly host: { readonly kernel: string | null };
  readonly benchmarks: readonly {
    readonly name: string;
    readonly rows: readonly BenchRow[];
    readonly error: string | null;
  }[];
}

test("a benchmark asked for by name prints its figures, their targets and the machine as one object", async () => {
  const { code, stdout } = await bench(["--json", "--quick", "--blocks", "1", "kernel-record", "ring-to-bun"]);
  expect(code).toBe(0);
  const printed: Printed = JSON.parse(stdout);
  expect(printed.host.kernel).not.toBeNull();
  expect(printed.benchmarks.map(({ name, error }) => ({ name, error }))).toEqual([
    { name: "kernel-record", error: null },
    { name: "ring-to-bun", error: null },
  ]);
  const rows = printed.benchmarks.flatMap((one) => one.rows);
  const held = rows.filter((row) => row.target !== null);
  expect(held.length).toBeGreaterThanOrEqual(3);
  for (const row of held) {
    const better = row.unit === "rows/s" ? row.value / (row.target ?? 0) : (row.target ?? 0) / row.value;
    // A cost is a difference of two times, which the load of a busy machine may bring to nothing.
    if (row.value > 0) expect(row.ratio).toBeCloseTo(better, 9);
    else expect(row.ratio).toBeNull();
  }
  const clock = rows.find((row) => row.what === "kernel: loop, timestamp and ids");
  expect(clock?.value).toBeGreaterThan(0);
});

test("a name that is no benchmark is a mistake of the caller, with the names that there are", async () => {
  const { code, stderr } = await bench(["kernel-rekord"]);
  expect(code).toBe(2);
  expect(stderr).toContain('there is no benchmark "kernel-rekord"');
  expect(stderr).toContain("[kernel-record]");
});

test("a number of blocks that is none is refused before anything runs", async () => {
  const { code, stdout, stderr } = await bench(["--blocks", "many"]);
  expect(code).toBe(2);
  expect(stdout).toBe("");
  expect(stderr).toContain('--blocks: a count expected, but received "many"');
});

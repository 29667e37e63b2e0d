import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRun } from "../../../src/api/open-run.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { childrenOfTests } from "../../fixtures/children-of-tests.ts";
import { jsonOf, outputFolder, QUICK, runCli } from "../run/cli.ts";

setDefaultTimeout(120_000);

const BYTES = 2 ** 23;
const folder = mkdtempSync(join(tmpdir(), "mrm-blob-"));
const blob = join(folder, "sha256-abc");
const output = outputFolder();
beforeAll(async () => {
  await writeModel({ params: "1m", type: "q8_0", seed: 1 }, blob);
  truncateSync(blob, BYTES);
});
afterAll(() => {
  for (const path of [folder, output]) rmSync(path, { recursive: true });
});

const children = childrenOfTests();

const code = (time_ms: number): string =>
  `const kept = Bun.mmap(process.argv.at(-1)); console.log("up"); setTimeout(() => kept.length, ${time_ms});`;

/** Regions of the blob as class, evidence and bytes, after the capture was labelled again where `isGone` without the file. */
async function regionsOf(args: readonly string[], isGone = false) {
  const ended = await runCli([...args.slice(0, 1), "--json", ...QUICK, "--output", output, ...args.slice(1)]);
  expect([ended.exitCode, ended.stderr]).toEqual([0, expect.any(String)]);
  const { run_dir } = jsonOf(ended) as { readonly run_dir: string };
  if (isGone) {
    rmSync(blob);
    expect((await runCli(["analyse", run_dir])).exitCode).toBe(0);
  }
  const opened = openRun(run_dir);
  try {
    const regions = opened.table("region_map").toArray() as unknown as Record<string, unknown>[];
    const found = regions.filter(({ name }) => name === blob);
    return found.map(({ region_type, evidence, size_bytes }) => [region_type, evidence, Number(size_bytes)]);
  } finally {
    opened.close();
  }
}

describe("a GGUF that no name tells, mapped by a process in which nothing is computed", () => {
  test("is weight by its file in a program that maps it before our eyes", async () => {
    const found = await regionsOf(["run", "--", process.execPath, "-e", code(1500), blob]);
    expect(found).toEqual([["weight", "file", BYTES]]);
  });

  test("is weight where it was mapped before, and when the run is labelled again without the file", async () => {
    const child = Bun.spawn([process.execPath, "-e", code(1e6), blob], { stdout: "pipe", stderr: "inherit" });
    children.push(child);
    await child.stdout.getReader().read();
    const found = await regionsOf(["attach", String(child.pid), "--duration", "1s"], true);
    expect(found).toEqual([["weight", "file", BYTES]]);
  });
});

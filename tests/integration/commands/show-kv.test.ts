import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeHandMadeRun } from "../../unit/label/hand-made-run.ts";
import { runCli } from "../run/cli.ts";

let runDir = "";
let bareDir = "";
beforeAll(async () => {
  runDir = writeHandMadeRun();
  bareDir = mkdtempSync(join(tmpdir(), "mrm-bare-"));
  cpSync(join(runDir, "capture/mapping"), join(bareDir, "capture/mapping"), { recursive: true });
  for (const dir of [runDir, bareDir]) expect((await runCli(["analyse", "--quiet", dir])).exitCode).toBe(0);
});
afterAll(() => {
  for (const dir of [runDir, bareDir]) rmSync(dir, { recursive: true });
});

describe("show --kv of a finished run", () => {
  test("draws the rows of its cache, in 100 columns where nobody says how many there are", async () => {
    const { exitCode, stdout, stderr } = await runCli(["show", "--kv", runDir]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(
      /^KV cache of pid 77: each row of a token lies in 1 tensor\ntime +0 s .*\nsequence 0: 4 rows/,
    );
    expect(stdout).toMatch(/\n {2}life {5}#.*\+/);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  test("says why there is nothing to draw", async () => {
    expect(await runCli(["show", "--kv", bareDir])).toMatchObject({
      exitCode: 0,
      stdout: "no row of a KV cache is known: no step that the run recorded tells of one\n",
    });
  });

  test("refuses what a drawing has no part in", async () => {
    for (const option of [["--json"], ["--table"], ["--class", "kv_cache"]]) {
      const { exitCode, stderr } = await runCli(["show", "--kv", ...option, runDir]);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`leave ${option[0]} out`)]);
    }
  });

  test("names the command that derives rows anew whose file is damaged", async () => {
    const damaged = mkdtempSync(join(tmpdir(), "mrm-damaged-"));
    cpSync(runDir, damaged, { recursive: true });
    writeFileSync(join(damaged, "kv_block_lifecycle.parquet"), "no table");
    const { exitCode, stderr } = await runCli(["show", "--kv", damaged]);
    expect([exitCode, stderr]).toEqual([4, expect.stringContaining(`mrm-trace analyse ${damaged}`)]);
    rmSync(damaged, { recursive: true });
  });
});

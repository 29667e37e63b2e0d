/** A run that is recorded only: nothing is derived until `analyse` does it, and then everything is. */
import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endLeftRuns, jsonOf, QUICK, runCli, startCli } from "./cli.ts";

setDefaultTimeout(120_000);
const folder = mkdtempSync(join(tmpdir(), "mrm-record-only-"));
afterEach(endLeftRuns);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const RECORD = ["--record-only", ...QUICK, "--output", folder];
const derived = (runDir: string): boolean[] =>
  ["metadata.json", "metrics.csv", "trace", "region_map.parquet"].map((name) => existsSync(join(runDir, name)));

describe("a run with --record-only", () => {
  test("derives nothing, says the command that does, and that command finds all it needs", async () => {
    const ended = await runCli(["run", ...RECORD, "--", "sh", "-c", "cat /proc/self/oom_score_adj; sleep 0.3; exit 3"]);
    expect(ended.exitCode).toBe(6);
    // What is launched does not inherit that the tracer is to die first.
    expect(ended.stdout.trim()).toBe(readFileSync("/proc/self/oom_score_adj", "latin1").trim());
    const runDir = /next: mrm-trace analyse (\S+)/.exec(ended.stderr)?.[1] ?? "";
    expect(derived(runDir)).toEqual([false, false, false, false]);
    const analysed = await runCli(["analyse", "--json", runDir]);
    expect(analysed.exitCode).toBe(0);
    expect(jsonOf(analysed)).toMatchObject({ target: { exit_code: 3 }, run_dir: runDir });
    expect(derived(runDir)).toEqual([true, true, true, true]);
  });

  test("says with --json where it is and how to go on, as a program reads it", async () => {
    const target = Bun.spawn(["sleep", "60"]);
    try {
      const attached = startCli(["attach", ...RECORD, "--json", "--duration", "500ms", String(target.pid)]);
      const { exitCode, stdout } = await attached.ended;
      expect(exitCode).toBe(0);
      const { run_dir, derive } = JSON.parse(stdout);
      expect(derive).toBe(`mrm-trace analyse ${run_dir}`);
      expect(derived(run_dir)).toEqual([false, false, false, false]);
    } finally {
      target.kill();
    }
  });
});

test("analyse with less memory than it must have refuses, and says what to do", async () => {
  const { stderr, exitCode } = await runCli(["analyse", "--memory", "64MiB", folder]);
  expect(exitCode).toBe(3);
  expect(stderr).toContain("deriving takes at least 260 MiB of memory, and less was asked for");
  expect(stderr).toContain("mrm-trace analyse");
});

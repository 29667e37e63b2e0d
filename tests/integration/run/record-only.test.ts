/** A run that is recorded only: nothing is derived until `analyse` does it, and then everything is. */
import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promptOutputsSchema } from "../../../src/schema/prompt-outputs.ts";
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

test("a run of the demo keeps its texts beside what was recorded, for its owner; what is shared or published is without", async () => {
  const demo = ["--params", "1m", "--tokens", "40", "--prompt-tokens", "20", "--context-tokens", "32"];
  const ended = await runCli(["run", ...RECORD, "--watch-registers", "0", ...demo]);
  const runDir = /next: mrm-trace analyse (\S+)/.exec(ended.stderr)?.[1] ?? "";
  const path = join(runDir, "prompt_outputs.json");
  const { prompts, prompts_left_out } = promptOutputsSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(prompts_left_out).toBe(0);
  expect(prompts.map(({ index }) => index)).toEqual(prompts.map((_, i) => i));
  // The demo writes letters of its own: one a token, but for the one that begins a text.
  for (const { prompt, prompt_tokens } of prompts)
    expect([prompt.trim().length > 10, prompt_tokens]).toEqual([true, 20]);
  // Of each prompt the first token comes out of its own pass.
  expect(prompts.reduce((sum, { tokens_generated }) => sum + tokens_generated - 1, 0)).toBe(40);
  expect((await runCli(["analyse", "--quiet", runDir])).exitCode).toBe(0);
  const { files } = JSON.parse(readFileSync(join(runDir, "manifest.json"), "utf8"));
  expect(files.map((file: { path: string }) => file.path)).toContain("prompt_outputs.json");
  const shared = jsonOf(await runCli(["scrub", "--json", "--out", join(folder, "shared"), runDir]));
  expect(existsSync(join(String(shared.run_dir), "prompt_outputs.json"))).toBe(false);
  const published = await runCli([
    "export",
    runDir,
    "--format",
    "zenodo",
    "--out",
    join(folder, "published"),
    "--json",
  ]);
  expect(jsonOf(published)).toMatchObject({
    left_out: expect.arrayContaining([expect.stringContaining("texts of prompts")]),
  });
  expect(existsSync(join(folder, "published", "prompt_outputs.json"))).toBe(false);
});

test("analyse with less memory than it must have refuses, and says what to do", async () => {
  const { stderr, exitCode } = await runCli(["analyse", "--memory", "64MiB", folder]);
  expect(exitCode).toBe(3);
  expect(stderr).toContain("deriving takes at least 260 MiB of memory, and less was asked for");
  expect(stderr).toContain("mrm-trace analyse");
});

/** Pid namespaces: from inside nothing is traced and that is said; a target in one is traced from outside. */
import { afterEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { inNumbers } from "../../../src/schema/ledger.ts";
import { runJsonSchema } from "../../../src/schema/run-json.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { readStream } from "../../fixtures/parquet-by-wasm.ts";
import { columnOf } from "../collect/traced.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "./cli.ts";

afterEach(endLeftRuns);

const INSIDE = ["unshare", "--mount", "--pid", "--fork", "--mount-proc"];

describe("inside a pid namespace of its own", () => {
  // The first process of the namespace is a shell, the second sleeps, and is what is attached to.
  const besideSleep = [...INSIDE, "sh", "-c", 'sleep 30 & "$@"', "sh"];
  for (const [verb, target] of [
    ["run", ["--", "sleep", "2"]],
    ["attach", ["2"]],
  ] as const) {
    test(`${verb} says that eBPF would see other processes, and records nothing`, async () => {
      const output = outputFolder();
      const ended = await runCli([verb, ...QUICK, "--output", output, ...target], { prefix: besideSleep });
      expect(ended.stderr).toContain("this container has its own pids: BPF sees those of the host");
      expect(ended.stderr).toContain("fix: run mrm-trace on the host");
      expect(ended.exitCode).toBe(3);
      expect(readdirSync(output)).toEqual([]);
    });
  }

  test("nothing is taken from a /proc of other numbers", async () => {
    const output = outputFolder();
    const args = ["run", ...QUICK, "--output", output, "--collector", "process", "--", "sleep", "2"];
    const ended = await runCli(args, { prefix: ["unshare", "--pid", "--fork"] });
    expect(ended.stderr).toContain("/proc is that of another pid namespace");
    expect(ended.exitCode).toBe(3);
  });

  test("doctor gives the same reason", async () => {
    const ended = await runCli(["doctor"], { prefix: INSIDE });
    expect(ended.stdout + ended.stderr).toContain("this container has its own pids: BPF sees those of the host");
    expect(ended.exitCode).toBe(3);
  });
});

test("a target in a pid namespace is traced from outside, under the number that the host gives it", async () => {
  const PAGES = 5000;
  const program = [...INSIDE, compileProgram("count-faults"), String(PAGES)];
  const ended = await runCli(["run", "--json", ...QUICK, "--output", outputFolder(), "--", ...program]);
  expect(ended.exitCode).toBe(0);
  const { ledger, run_dir } = runJsonSchema.parse(jsonOf(ended));
  const faults = inNumbers(ledger).filter(({ stream, stage }) => stream === "fault" && stage === "segments");
  expect(faults.reduce((sum, { kept }) => sum + kept, 0)).toBeGreaterThan(PAGES);
  // In its own namespace it is the first process.
  const pids = columnOf([...readStream(run_dir, "fault")], "pid").map(Number);
  expect(Math.min(...pids)).toBeGreaterThan(1);
});

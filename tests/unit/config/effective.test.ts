import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Effective, effectiveOptions } from "../../../src/config/effective.ts";
import { misspeltVariables } from "../../../src/config/environment.ts";

const before = process.cwd();
const folder = mkdtempSync(join(tmpdir(), "mrm-trace-effective-"));
beforeAll(() => {
  process.chdir(folder);
  writeFileSync("mrm-trace.yaml", "run: {budget: 2, seed: 2, max_size: 2GiB, baseline: 2s}\ndemo: {threads: 2}\n");
  writeFileSync("exp.yaml", "run:\n  budget: 3\n  seed: 3\n  max_size: 3GiB\noutput: {base_dir: there}\n");
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

const from = ({ options }: Effective, key: string): string | undefined =>
  options.find((option) => option.key === key)?.from;

describe("the options that hold", () => {
  test("come from flags, then the environment, then --config, then ./mrm-trace.yaml, then defaults", () => {
    const env = { MRM_TRACE_BUDGET: "4", MRM_TRACE_SEED: "4", MRM_TRACE_JSON: "1" };
    const found = effectiveOptions({ args: { budget: "5" }, env, config: "exp.yaml" });
    expect(found.run).toMatchObject({
      budget: 5,
      seed: 4,
      max_size: 3 * 2 ** 30,
      baseline: 2e9,
      output: "there",
      json: true,
      watch_registers: 4,
    });
    expect(found.demo.threads).toBe(2);
    expect(
      ["budget", "seed", "max_size", "baseline", "output", "watch_registers"].map((name) => from(found, `run.${name}`)),
    ).toEqual(["--budget", "MRM_TRACE_SEED", "exp.yaml:4", "mrm-trace.yaml:1", "exp.yaml:5", "default"]);
    expect(from(found, "demo.threads")).toBe("mrm-trace.yaml:2");
  });

  test("are those of ./mrm-trace.yaml alone without a file", () => {
    expect(effectiveOptions({ args: {}, env: {} }).run).toMatchObject({ budget: 2, output: "results" });
  });

  test("come from keys of the Python package too, under the line of the key, but for what `run` says itself", () => {
    const of = (text: string) => {
      writeFileSync("python.yaml", text);
      return effectiveOptions({ args: {}, env: {}, config: "python.yaml" });
    };
    const found = of(
      "collector:\n  primary: perf_mem\n  perf_mem:\n    sample_period: 4000\n    ldlat_threshold: 20\n" +
        '    events: ["cpu/mem-loads,ldlat=20/P", cpu/mem-stores/P]\n  memray: {native_traces: true}\n',
    );
    expect(found.run).toMatchObject({
      collector: ["perf-mem"],
      perf: ["mem", "period=4000", "ldlat=20"],
      memray: ["native", "follow-fork"],
    });
    expect(["collector", "perf", "memray"].map((name) => from(found, `run.${name}`))).toEqual([
      "python.yaml:2",
      "python.yaml:6",
      "python.yaml:7",
    ]);
    expect(of("collector: {primary: memray, memray: {follow_fork: false}}").run).toMatchObject({
      collector: ["memray"],
      memray: [],
    });
    expect(of("collector: {primary: process_monitor, perf_mem: {events: [page-faults]}}").run).toMatchObject({
      collector: ["process"],
      perf: ["page-faults"],
    });
    expect(of("collector: {primary: memray}\nrun: {collector: ebpf}").run.collector).toEqual(["ebpf"]);
    expect(() => of("collector: {perf_mem: {sample_period: -1}}")).toThrow("whole number from 1");
  });

  const wrong: [env: Record<string, string>, message: string][] = [
    [{ MRM_TRACE_BUDGET: "lots" }, "MRM_TRACE_BUDGET: "],
    [{ MRM_TRACE_DURATION: "5y" }, "MRM_TRACE_DURATION: a duration expected"],
    [{ MRM_TRACE_QUIET: "maybe" }, "MRM_TRACE_QUIET: true or false expected"],
    [{ MRM_TRACE_PARAMS: "7b" }, "MRM_TRACE_PARAMS: "],
  ];
  test.each(wrong)("are refused where the environment has %p", (env, message) => {
    expect(() => effectiveOptions({ args: {}, env })).toThrow(message);
  });

  test("are refused with the line where a file has them wrong", () => {
    writeFileSync("bad.yaml", "run:\n  budget: lots\n");
    expect(() => effectiveOptions({ args: {}, env: {}, config: "bad.yaml" })).toThrow("bad.yaml:2:11: run.budget: ");
  });

  test("leave misspelt variables to be told", () => {
    const env = { MRM_TRACE_BUDGT: "1", MRM_TRACE_CACHE: "x", MRM_TRACE_BUDGET: "1", OTHER: "1" };
    expect(misspeltVariables(env)).toEqual([{ variable: "MRM_TRACE_BUDGT", meant: "MRM_TRACE_BUDGET" }]);
  });
});

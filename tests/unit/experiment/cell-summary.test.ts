import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aggregate, summarise } from "../../../src/experiment/cell-summary.ts";
import type { RunResult } from "../../../src/experiment/outcome.ts";
import type { RunRecord } from "../../../src/experiment/run-record.ts";
import { RUNS_CSV_HEADER, writeRunsCsv } from "../../../src/experiment/runs-csv.ts";
import { summaryText } from "../../../src/experiment/sweep-table.ts";

function result(
  kind: string,
  rate: number | null,
  given: Partial<RunResult> & { validity?: RunRecord["validity"] } = {},
): RunResult {
  const { validity = "clean", ...rest } = given;
  const is_warmup = kind.startsWith("warmup");
  const record: RunRecord = {
    path: "r",
    run_id: kind,
    model_id: "m",
    machine: "vm",
    experiment: null,
    validity,
    reasons: [],
    stopped_by: "target_ended",
    exit_code: 0,
    wall_s: 1,
    total_s: 2,
    bytes: 3,
    prompt_tokens: 4,
    decode_tokens: 5,
    decode_tokens_per_s: rate,
    ttft_ms: 6,
    slowdown_pct: 7,
    observer_cpu_pct: 8,
  };
  return {
    entry: {
      planned: {
        model: { id: "m", engine: "demo" },
        model_id: "m",
        context_length: 64,
        batch_size: 1,
        output_tokens: 8,
        prompt_tokens: 56,
        prompts: 1,
        run_id: kind,
        is_warmup,
        rep_index: 0,
      },
      run_dir: `results/m/${kind}`,
      state: "absent",
      record: null,
      prediction: null,
    },
    status: "complete",
    exit_code: 0,
    record,
    figures: [
      {
        metric: "reads_per_byte_per_token",
        region_type: "weight",
        step: "all",
        source: "step",
        grain_bytes: 8,
        value: 5,
      },
      {
        metric: "reads_per_byte_per_token",
        region_type: "weight",
        step: "decode",
        source: "watch",
        grain_bytes: 8,
        value: 3,
      },
      {
        metric: "reads_per_byte_per_token",
        region_type: "weight",
        step: "decode",
        source: "step",
        grain_bytes: 8,
        value: 1,
      },
    ],
    why: null,
    ...rest,
  };
}

describe("a summary", () => {
  const results = [
    result("warmup0", 1000),
    result("rep0", 10),
    result("rep1", 14, { status: "skipped", validity: "marginal" }),
    result("rep2", 9000, { validity: "contaminated" }),
    result("rep3", 8000, { status: "failed" }),
    result("rep4", null, { status: "not_run", record: null, figures: [] }),
  ];

  test("leaves out warm-ups, contaminated, failed and missing runs", () => {
    const [cell, ...others] = summarise(results);
    expect(others).toEqual([]);
    expect(cell).toMatchObject({ runs: 5, used: 2 });
    expect(cell?.aggregates.find(({ name }) => name === "decode_tokens_per_s")).toMatchObject({ n: 2, mean: 12 });
  });

  test("takes a metric while decoding, and from the engine's steps, where they tell it", () => {
    const found = summarise(results)[0]?.aggregates.find(({ name }) => name === "weight_reads_per_byte_per_token");
    expect(found).toMatchObject({ n: 2, mean: 1, lo: 1, hi: 1 });
  });

  test("has Student's interval of the mean from two runs on", () => {
    expect(aggregate("x", [])).toEqual({ name: "x", n: 0, mean: null, lo: null, hi: null });
    expect(aggregate("x", [3])).toEqual({ name: "x", n: 1, mean: 3, lo: null, hi: null });
    // s = 1, n = 3: 4.3027 / sqrt(3).
    const { lo, hi } = aggregate("x", [1, 2, 3]);
    expect(lo).toBeCloseTo(2 - 2.4842, 3);
    expect(hi).toBeCloseTo(2 + 2.4842, 3);
  });

  /** The figures of a cache that a run tells. */
  const cache = (name: string, ...told: readonly (readonly [step: string, source: string, value: number])[]) =>
    result(name, 10, {
      figures: told.map(([step, source, value]) => ({
        ...{ metric: "retention_p50_ns", region_type: "kv_cache", grain_bytes: null },
        ...{ step, source, value },
      })),
    });
  const retention = (runs: readonly RunResult[]) =>
    summarise(runs)[0]?.aggregates.find(({ name }) => name === "kv_cache_retention_p50_ns");

  test("has no mean of a figure that some of the runs could not tell: theirs may be the long ones", () => {
    const runs = [cache("rep0", ["all", "step", 1e9]), cache("rep1", ["all", "step", 2e9]), cache("rep2")];
    expect(retention(runs)).toMatchObject({ n: 2, mean: null, lo: null, hi: null });
    const text = summaryText("x", runs, "results/runs.csv", { width: 250, color: false, unicode: false });
    expect(text).toContain("2 runs only");
  });

  test("has a mean over one source and one kind of step, and none of a prefill", () => {
    const both = cache("rep0", ["all", "step", 1e9], ["all", "watch", 3e9]);
    expect(retention([both, cache("rep1", ["all", "watch", 5e9])])).toMatchObject({ n: 2, mean: 4e9 });
    expect(retention([both, cache("rep1", ["prefill", "watch", 5e9])])).toMatchObject({ n: 1, mean: null });
  });

  test("is a table with a line per combination", () => {
    const text = summaryText("x", results, "results/runs.csv", { width: 200, color: false, unicode: false });
    expect(text).toContain("m ctx 64 batch 1 out 8");
    expect(text).toContain("2 of 5");
  });

  test("says in whole words what its figures are, and how the runs that are missing are made", () => {
    for (const width of [50, 100, 200]) {
      const terminal = { width, color: false, unicode: false };
      const text = summaryText("x", results, "results/runs.csv", terminal).replaceAll(/\n +/g, " ");
      expect(text).toContain("where all of them tell; reads and writes per byte and token");
      expect(text).toContain("1 run not started\n");
      expect(text).toMatch(/^missing {4}[1-9] runs?: made by the same command with --resume$/m);
    }
    const whole = summaryText("x", [result("rep0", 10)], "results/runs.csv", {
      width: 99,
      color: false,
      unicode: false,
    });
    expect(whole).not.toContain("missing");
  });

  test("gives its reason for every run that is kept out whole, however narrow the terminal", () => {
    const reason =
      "time that the process waited for a CPU that the tracer had 7.25 % of its CPU time, marginal is at most 5";
    const kept = result("rep9", 1, { why: `contaminated: ${reason}` });
    const text = summaryText("x", [...results, kept], "results/runs.csv", { width: 50, color: false, unicode: false });
    expect(text.replace(/\n {2}/g, " ")).toContain(`1 run kept out, the first contaminated: ${reason}`);
    const stopped = result("rep8", null, { status: "failed", why: `the target failed: ${reason}` });
    const told = summaryText("x", [stopped], "results/runs.csv", { width: 50, color: false, unicode: false });
    expect(told.replace(/\n {2}/g, " ")).toContain(`1 run failed: the target failed: ${reason}`);
  });

  test("goes to runs.csv, where other experiments stay and the own rows are replaced", () => {
    const folder = mkdtempSync(join(tmpdir(), "mrm-trace-csv-"));
    try {
      const failed = result("rep0", null, { status: "failed", why: 'two\nlines, "quoted"' });
      writeRunsCsv(folder, "First One", results);
      writeRunsCsv(folder, "second", [failed]);
      const path = writeRunsCsv(folder, "first one", results.slice(0, 2));
      const lines = readFileSync(path, "utf8").split("\n");
      expect(lines[0]).toBe(RUNS_CSV_HEADER);
      expect(lines.slice(1).map((line) => line.split(",").slice(0, 3).join())).toEqual([
        "second,m,rep0",
        "first-one,m,warmup0",
        "first-one,m,rep0",
        "",
      ]);
      expect(lines[1]).toEndWith('"two lines, ""quoted"""');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

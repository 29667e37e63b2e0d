import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { METRICS_CSV_HEADER } from "../../../src/report/csv.ts";
import { JUDGE, pythonPackage } from "../../fixtures/python-package.ts";
import { outputFolder, QUICK, runCli } from "../run/cli.ts";

/** What tests/fixtures/python-package/judge.py prints. */
interface Answer {
  readonly refused: Readonly<Record<string, string | null>>;
  /** Its check of another file under the name of a trace. */
  readonly refuses: string | null;
  readonly rows: number;
  readonly tables: Readonly<Record<string, { readonly columns: readonly string[]; readonly rows: number }>>;
  readonly reads: number;
  readonly writes: number;
  readonly csv: { readonly header: readonly string[]; readonly missing: readonly string[] };
  readonly manifest: {
    readonly wrong: readonly string[];
    readonly differing: readonly string[];
    readonly keys: readonly string[];
    readonly compatible: boolean;
    readonly files: number;
  };
}

const found = await pythonPackage();
if (!found.ok) process.stderr.write(`skipping the Python package as judge: ${found.reason}\n`);

describe.skipIf(!found.ok)("a real run, judged by the Python package", () => {
  const output = outputFolder();
  let report: { readonly run_dir: string; readonly target: { readonly busy_threads: number | null } };
  let runDir = "";
  let answer: Answer;

  beforeAll(async () => {
    if (!found.ok) return;
    const demo = ["--params", "1m", "--seconds", "6", "--budget", "5", "--seed", "5"];
    const ended = await runCli(["run", "--json", ...QUICK, ...demo, "--output", output]);
    expect(ended.exitCode).toBe(0);
    report = JSON.parse(ended.stdout) as typeof report;
    runDir = report.run_dir;
    const judged = Bun.spawnSync([found.python, JUDGE, runDir]);
    expect(judged.stderr.toString()).toBe("");
    answer = JSON.parse(judged.stdout.toString()) as Answer;
  }, 120_000);
  afterAll(() => rmSync(output, { recursive: true, force: true }));

  test("has a thread or more that was busy while tokens were decoded", () => {
    // Its runtime decodes on two threads by turns; the next prompt and the printing take little.
    expect(report.target.busy_threads).toBeGreaterThan(0.5);
  });

  test("has a trace, a region map and a KV lifecycle that its schema check accepts", () => {
    expect(answer.refused).toEqual({ trace: null, region_map: null, kv_block_lifecycle: null });
    // A check that accepts anything would prove nothing.
    expect(answer.refuses).toContain("missing required columns");
  });

  test("has a trace on which its whole analysis runs", () => {
    expect(answer.rows).toBeGreaterThan(30);
    expect(Object.keys(answer.tables).sort()).toEqual([
      "iai",
      "locality_per_region",
      "locality_summary",
      "read_freq",
      "retention_per_region",
      "retention_summary",
      "suitability",
      "working_set_per_region",
      "working_set_summary",
      "write_once",
    ]);
    expect(answer.tables.read_freq?.rows).toBeGreaterThan(0);
    // It knows loads and stores; an access that is both, or of which neither is known, is no row of its counts.
    expect(answer.reads + answer.writes).toBeGreaterThan(0);
    expect(answer.reads + answer.writes).toBeLessThanOrEqual(answer.rows);
  });

  test("has a metrics.csv that begins with its header, ours behind it", () => {
    const first = readFileSync(join(runDir, "metrics.csv"), "utf8").split("\n")[0];
    expect(first).toStartWith(`${METRICS_CSV_HEADER},`);
    expect(answer.csv.header.slice(0, METRICS_CSV_HEADER.split(",").length).join(",")).toBe(METRICS_CSV_HEADER);
    expect(answer.csv.missing).toEqual([]);
  });

  test("has a manifest that verifies by its rules", () => {
    const { files, ...rest } = answer.manifest;
    expect(rest).toEqual({ wrong: [], differing: [], keys: [], compatible: true });
    expect(files).toBeGreaterThan(8);
  });
});

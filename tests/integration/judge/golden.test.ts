import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRun } from "mrm-trace";
import { analyse } from "../../../src/pipelines/analyse.ts";
import { checkManifest } from "../../../src/run-directory/check-manifest.ts";
import type { RunReport } from "../../../src/schema/run-json.ts";
import { openDatabase } from "../../../src/sql/database.ts";
import { GOLDEN_ANALYSIS, GOLDEN_TRACE } from "../../fixtures/python-package.ts";
import { jsonOf, runCli } from "../run/cli.ts";
import { type Analysis, type Comparison, compareGolden, goldenTable } from "./golden-table.ts";

const PAGE = new URL("../../../docs/python-package.md", import.meta.url).pathname;

/** Why a figure differs, by the numbers of docs/python-package.md; each says for which figures and classes it holds. */
const REASONS: readonly ((of: Comparison) => boolean)[] = [
  ({ figure, region_type }) => figure === "reads_per_write" && ["activation", "kv_cache"].includes(region_type),
  ({ figure, region_type }) => figure === "working set, bytes" && region_type === "kv_cache",
  ({ figure }) => figure.startsWith("retention_"),
  ({ figure, region_type }) => figure.startsWith("iai_") && region_type !== "kv_cache",
  ({ figure, region_type }) =>
    (figure === "same_page_fraction" || figure === "median_stride_bytes") &&
    ["activation", "kv_cache"].includes(region_type),
  ({ figure }) => figure === "suitability",
];

const reasonOf = (of: Comparison): number | null => {
  const at = REASONS.findIndex((holds) => holds(of));
  return at < 0 ? null : at + 1;
};

describe("the golden trace of the Python package", () => {
  const output = mkdtempSync(join(tmpdir(), "mrm-judge-"));
  let report: RunReport;
  let comparisons: Comparison[];

  beforeAll(async () => {
    report = (await analyse(GOLDEN_TRACE, { output, period: 1, force: false, seed: 1 })).report;
    comparisons = compareGolden(JSON.parse(readFileSync(GOLDEN_ANALYSIS, "utf8")) as Analysis, report);
  });
  afterAll(() => rmSync(output, { recursive: true, force: true }));

  test("gives the package's own figures where its formula is right", () => {
    const differing = comparisons.filter((one) => !one.equal && reasonOf(one) === null);
    expect(differing).toEqual([]);
    expect(comparisons.filter((one) => one.equal).length).toBeGreaterThanOrEqual(37);
  });

  test("differs wherever a reason for it is on record", () => {
    // A trace of 20 ms cannot tell any class from low_mrm; retention of what is never read again is 0 for both.
    const idle = comparisons.filter((one) => one.equal && reasonOf(one) !== null);
    expect(idle).toEqual([]);
  });

  test("is compared in docs/python-package.md, figure by figure", () => {
    expect(readFileSync(PAGE, "utf8")).toContain(goldenTable(comparisons, reasonOf));
  });

  test("is kept as it was, in a run directory that its manifest describes", async () => {
    const kept = join(report.run_dir, "raw", "trace.parquet");
    expect(readFileSync(kept)).toEqual(readFileSync(GOLDEN_TRACE));
    expect(await checkManifest(report.run_dir)).toMatchObject({ missing: [], changed: [], unlisted: [] });
    expect(statSync(join(report.run_dir, "metrics.parquet")).mode & 0o777).toBe(0o600);
  });

  test("claims no machine and no time for what was recorded elsewhere", () => {
    const metadata: unknown = JSON.parse(readFileSync(join(report.run_dir, "metadata.json"), "utf8"));
    expect(metadata).toMatchObject({
      machine_id: null,
      timing: { started_at_utc: null },
      hardware: { cpu_model: null },
      software: { os: null, kernel: null },
    });
    using opened = openRun(report.run_dir);
    expect(opened.metadata.machine_id).toBeNull();
  });

  test("can be analysed again from its run directory, with the same figures", async () => {
    const again = await analyse(report.run_dir, { output: "unused", period: null, force: false, seed: 9 });
    expect(again.report.metrics).toEqual(report.metrics);
    expect(existsSync("unused")).toBe(false);
  });

  test("tells little where nobody says how it was sampled, and says so", async () => {
    const unknown = (await analyse(GOLDEN_TRACE, { output, period: null, force: false, seed: 1 })).report;
    const status = (metric: string) =>
      unknown.metrics.find((row) => row.metric === metric && row.region_type === "kv_cache")?.status;
    for (const metric of ["write_once_ratio", "retention_p50_ns", "iai_p50_ns", "reads_per_write", "loads_per_s"]) {
      expect([metric, status(metric)]).toEqual([metric, "not_identifiable"]);
    }
    expect(unknown.warnings.join()).toContain("give --period");
  });
});

describe("the command line", () => {
  const output = mkdtempSync(join(tmpdir(), "mrm-judge-"));
  afterAll(() => rmSync(output, { recursive: true, force: true }));

  test("takes a folder with a trace, and names the run directory that it made", async () => {
    const folder = join(output, "model", "golden");
    await Bun.write(join(folder, "trace.parquet"), Bun.file(GOLDEN_TRACE));
    await Bun.write(join(folder, "metadata.json"), '{"model": {"id": "Some Model"}}');
    const ended = await runCli(["analyse", folder, "--period", "1", "--run-id", "again", "--output", output, "--json"]);
    expect([ended.exitCode, ended.stderr]).toEqual([0, ""]);
    expect(jsonOf(ended)).toMatchObject({ model_id: "some-model", run_id: "again" });
    expect(existsSync(join(output, "some-model", "again", "metrics.csv"))).toBe(true);
    // The folder that it read is as it was.
    expect(readdirSync(folder).sort()).toEqual(["metadata.json", "trace.parquet"]);
  });

  test("refuses a period that is none", async () => {
    const ended = await runCli(["analyse", GOLDEN_TRACE, "--period", "0", "--output", output]);
    expect(ended.exitCode).toBe(2);
    expect(ended.stderr).toContain("--period");
  });
});

describe("a file that is no labelled trace", () => {
  const output = mkdtempSync(join(tmpdir(), "mrm-judge-"));
  afterAll(() => rmSync(output, { recursive: true, force: true }));
  const options = { output, period: 1, force: false, seed: 1 } as const;

  test("is refused with what it lacks", async () => {
    const text = join(output, "trace.parquet");
    await Bun.write(text, "not a Parquet file");
    expect(analyse(text, options)).rejects.toMatchObject({ code: "data_quality" });
    expect(analyse(join(output, "absent.parquet"), options)).rejects.toMatchObject({ code: "usage" });
  });

  const table = async (select: string): Promise<string> => {
    const path = join(mkdtempSync(join(output, "t-")), "trace.parquet");
    await using database = await openDatabase();
    await database.run(`COPY (${select}) TO '${path}' (FORMAT parquet)`);
    return path;
  };
  const row = "1::UBIGINT AS timestamp_ns, 4096::UBIGINT AS address, 'load' AS op_type, 'weight' AS region_type";

  test("is refused where a column is missing or no number, by the column's name", async () => {
    const missing = await table("SELECT 1 AS timestamp_ns, 2 AS address, 'load' AS op_type");
    expect(analyse(missing, options)).rejects.toThrow("no column region_type");
    const words = await table(`SELECT * REPLACE ('x' AS address) FROM (SELECT ${row})`);
    expect(analyse(words, options)).rejects.toThrow("column address is VARCHAR");
  });

  test("counts rows without an address, and says what it can of one row or none", async () => {
    const holes = await table(`SELECT ${row} UNION ALL SELECT 2::UBIGINT, NULL, 'store', NULL`);
    const { report } = await analyse(holes, options);
    expect(report.warnings.join()).toContain("1 rows of the trace lack an address or a time");
    expect(report.labels).toMatchObject([{ region_type: "weight", access_rows: 1 }]);
    const none = await analyse(await table(`SELECT * FROM (SELECT ${row}) WHERE address = 0`), options);
    expect(none.report.labels).toEqual([]);
  });

  test("tells no figure where more than 1 % of its rows have no address", async () => {
    const rowsOf = (lost: number) => `SELECT i::UBIGINT AS timestamp_ns,
      CASE WHEN i % 1000 < ${lost} THEN NULL ELSE (64 * (i % 100))::UBIGINT END AS address,
      CASE WHEN i % 2 = 0 THEN 'load' ELSE 'store' END AS op_type, 'weight' AS region_type, 1::UINTEGER AS region_id
      FROM range(2000) AS rows(i)`;
    for (const [lost, status] of [
      [9, "ok"],
      [50, "insufficient"],
    ] as const) {
      const { report } = await analyse(await table(rowsOf(lost)), options);
      for (const metric of ["loads_per_s", "reads_per_write", "write_once_ratio", "reuse_time_p50_ns"]) {
        const found = report.metrics.find((row) => row.metric === metric && row.source === "import");
        expect([metric, found?.status]).toEqual([metric, status]);
      }
      expect(report.loss.find(({ source }) => source === "import")?.lost_pct ?? 0).toBeCloseTo(lost / 10, 9);
    }
  });

  test("is put in order of time where its rows are not", async () => {
    const rows = `SELECT ${row} UNION ALL SELECT 9::UBIGINT, 4096::UBIGINT, 'load', 'weight'`;
    const forward = await analyse(await table(`${rows} ORDER BY timestamp_ns`), options);
    const backward = await analyse(await table(`${rows} ORDER BY timestamp_ns DESC`), options);
    expect(backward.report.metrics).toEqual(forward.report.metrics);
    expect(forward.report.metrics.find(({ metric }) => metric === "reuse_time_mean_ns")?.n).toBe(1);
  });
});

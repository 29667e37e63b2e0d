import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { analyse } from "../../../src/analyse.ts";
import { checkManifest } from "../../../src/report/manifest.ts";
import type { RunReport } from "../../../src/schema/run-json.ts";
import { GOLDEN_ANALYSIS, GOLDEN_TRACE } from "../../fixtures/python-package.ts";
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
    expect(comparisons.filter((one) => one.equal).length).toBeGreaterThanOrEqual(25);
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
    expect(await checkManifest(report.run_dir)).toEqual({ missing: [], changed: [], unlisted: [], readable: true });
    expect(statSync(join(report.run_dir, "metrics.parquet")).mode & 0o777).toBe(0o600);
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
});

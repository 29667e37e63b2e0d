/** Figures of single regions by samples, of a run of which every sample is known. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import { type AnalysisResult, analyseRun } from "../../../../src/analyse/pipeline.ts";
import { openDatabase, parquetScan } from "../../../../src/sql/database.ts";
import type { Given } from "../../../fixtures/row-with.ts";
import { ORIGIN, writeStream } from "../../label/hand-made-run.ts";

const FACTS = {
  ...{ run_id: "r", ledger: [], trap_cost_ns: 500, seed: 1, sight: [] },
} as const;
const ids = { pid: 9, tid: 9 } as const;
const HOT = 0x7f00_0000_0000n;
const COLD = 0x7f10_0000_0000n;
const SIZE = 1n << 20n;
const PERIOD = 1000;
const RUN_MS = 2000;
const at = (ms: number): bigint => ORIGIN + BigInt(Math.round(ms * 1e6));

/** 900 loads of the one region and 100 loads and stores of the other by turns, each on a line of its own; 20 of a third. */
function samples(): Given<"access">[] {
  const rows: Given<"access">[] = [];
  const add = (ms: number, address: bigint, op_type: "load" | "store"): void => {
    rows.push({
      ...ids,
      ...{ timestamp_ns: at(ms), address, op_type, ip: 0x10n, cpu: 0, source: "ibs", period: BigInt(PERIOD) },
      ...{ in_kernel: false, op_evidence: "none" },
    });
  };
  for (let i = 0; i < 900; i++) add((i * RUN_MS) / 900, HOT + BigInt(64 * i), "load");
  for (let i = 0; i < 200; i++) add((i * RUN_MS) / 200 + 0.1, COLD + BigInt(64 * i), i % 2 === 0 ? "load" : "store");
  return rows.toSorted((a, b) => Number((a.timestamp_ns ?? 0n) - (b.timestamp_ns ?? 0n)));
}

let runDir = "";
let result: AnalysisResult;
let rows: Record<string, unknown>[] = [];
beforeAll(async () => {
  runDir = mkdtempSync(join(tmpdir(), "mrm-regions-"));
  const mapped = {
    ...ids,
    timestamp_ns: at(0),
    exec_epoch: 0,
    kind: "mmap",
    prot: 3,
    flags: 0x22,
    size_bytes: SIZE,
  } as const;
  writeStream(runDir, "mapping", [
    { ...mapped, addr: HOT, result: HOT },
    { ...mapped, addr: COLD, result: COLD },
  ]);
  writeStream(runDir, "access", samples());
  result = await analyseRun(runDir, FACTS);
  await using database = await openDatabase();
  rows = await database.rows(`SELECT * FROM ${parquetScan([join(runDir, "region_metrics.parquet")])}`);
});
afterAll(() => rmSync(runDir, { recursive: true }));

const figure = (region: number, metric: string, grain: number | null = null) => {
  const row = rows.find(
    (one) => one.region_id === region && one.metric === metric && (grain === null || one.grain_bytes === grain),
  );
  if (row === undefined) throw new Error(`no ${metric} of region ${region}`);
  return row as unknown as MetricRow;
};
const ofClass = (metric: string) => result.metrics.find((row) => row.metric === metric && row.source === "ibs");

test("both regions are told, with their samples, and nothing but what samples say", () => {
  expect([...new Set(rows.map(({ region_id, source }) => `${region_id} ${source}`))].sort()).toEqual([
    "1 ibs",
    "2 ibs",
  ]);
  expect([figure(1, "loads_per_s").n, figure(2, "loads_per_s").n].map(Number)).toEqual([900, 200]);
  for (const { status, why, method } of rows) expect([status === "ok" || why !== null, method]).not.toContain(false);
});

test("rates are the sums of the periods over the time, and add up to the class", () => {
  const seconds = (result.input.window_ns / 1e9) as number;
  const [hot, cold] = [figure(1, "loads_per_s"), figure(2, "loads_per_s")];
  expect(hot.value).toBeCloseTo((900 * PERIOD) / seconds, 6);
  expect(cold.value).toBeCloseTo((100 * PERIOD) / seconds, 6);
  expect((hot.value ?? 0) + (cold.value ?? 0)).toBeCloseTo(ofClass("loads_per_s")?.value ?? Number.NaN, 6);
  for (const { lo, hi, value } of [hot, cold])
    expect([(lo ?? 0) <= (value ?? 0), (hi ?? 0) >= (value ?? 0)]).toEqual([true, true]);
  expect(figure(2, "loads_per_store")).toMatchObject({ status: "ok", value: expect.closeTo(1, 9) });
  expect(figure(1, "loads_per_store")).toMatchObject({ status: "not_identifiable", why: "no store sampled" });
});

test("the working set lies between the blocks that samples fell on and what is mapped", () => {
  expect(figure(1, "working_set_bytes", 64)).toMatchObject({ status: "bound", lo: 900 * 64, hi: Number(SIZE) });
  expect(figure(2, "working_set_bytes", 4096)).toMatchObject({ status: "bound", lo: 4 * 4096 });
});

test("what samples cannot tell has the reason", () => {
  for (const metric of ["retention_p50_ns", "same_page_fraction", "median_stride_bytes", "read_bytes_per_s"]) {
    expect(figure(1, metric)).toMatchObject({ status: "not_identifiable", value: null });
    expect(figure(1, metric).why).toBe(ofClass(metric)?.why ?? "");
  }
});

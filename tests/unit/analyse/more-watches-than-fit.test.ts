/** A run with more watches than there is memory for is derived from some of them. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RecordedFacts } from "../../../src/analyse/input/load.ts";
import { type AnalysisResult, analyseRun } from "../../../src/analyse/pipeline.ts";
import { BYTES_OF } from "../../../src/label/label-room.ts";
import { type Database, openDatabase } from "../../../src/sql/database.ts";
import { writeLargeWatches } from "../../fixtures/large-watches.ts";

const COUNT = 900;
const HITS = 8;
const FACTS: RecordedFacts = { run_id: "large", ledger: [], trap_cost_ns: 9000, seed: 5, sight: [] };
const labelBytes =
  COUNT * (BYTES_OF["steps of engines"] + BYTES_OF["watches that are left"]) + (COUNT / 3) * BYTES_OF.watches + 60_000;

let runDir = "";
let database: Database;
let result: AnalysisResult;
beforeAll(async () => {
  runDir = mkdtempSync(join(tmpdir(), "mrm-watches-"));
  writeLargeWatches(runDir, COUNT);
  result = await analyseRun(runDir, FACTS, { labelBytes });
  database = await openDatabase();
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  rmSync(runDir, { recursive: true });
});
const rows = (file: string, columns: string) =>
  database.rows(`SELECT ${columns} FROM read_parquet('${join(runDir, file)}')`);
const digest = (name: string) =>
  createHash("sha256")
    .update(readFileSync(join(runDir, name)))
    .digest("hex");

test("figures are made of as many as fit, and the run says so with what to do", () => {
  const { watches, left_watches: left = [] } = result.input;
  expect(watches.length).toBeWithin(0.3 * COUNT, 0.36 * COUNT);
  expect(watches.length + left.length).toBe(COUNT);
  expect(watches.every(({ hit_ns }) => hit_ns.length === HITS)).toBe(true);
  const [warning, ...others] = result.warnings;
  expect(others).toEqual([]);
  expect(warning).toStartWith(`figures are made of ${watches.length} of 900 watches, drawn at random`);
  // As much as takes all of them.
  expect(warning).toContain("mrm-trace analyse RUN_DIR --memory 1GiB");
  expect(result.metrics.find(({ metric }) => metric === "read_bytes_per_s")?.status).toBe("ok");
});

test("the trace and the heat have all of them", async () => {
  const counted = "count(*) AS n, count(DISTINCT watch_id) AS watches";
  expect(await rows("trace.parquet", counted)).toEqual([{ n: BigInt(COUNT * HITS), watches: BigInt(COUNT) }]);
  const [heat] = await rows("heat.parquet", "sum(rows) AS n, sum(watched_ns) AS watched");
  const [watched] = await rows("capture/watch/*.parquet", "sum(end_ns - timestamp_ns) AS ns");
  expect(Number(heat?.n)).toBe(COUNT * HITS);
  expect(Number(heat?.watched) / Number(watched?.ns)).toBeWithin(0.999, 1.001);
});

test("it is the same each time, and all of them where there is room", async () => {
  const files = ["metrics.parquet", "heat.parquet", "region_metrics.parquet"];
  const before = files.map(digest);
  await analyseRun(runDir, FACTS, { labelBytes });
  expect(files.map(digest)).toEqual(before);
  const whole = await analyseRun(runDir, FACTS);
  expect(whole.input.watches.length).toBe(COUNT);
  expect(whole.input.left_watches).toBeUndefined();
  expect(whole.warnings).toEqual([]);
  expect(digest("heat.parquet")).toBe(before[1] ?? "");
  // What needs a watch needs some: a run is refused where there is room for next to none.
  const few = COUNT * (BYTES_OF["steps of engines"] + BYTES_OF["watches that are left"]) + 90 * BYTES_OF.watches;
  await expect(analyseRun(runDir, FACTS, { labelBytes: few })).rejects.toThrow(/the run holds more than \d+ watches/);
});

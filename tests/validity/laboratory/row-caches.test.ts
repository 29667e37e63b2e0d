import { expect, test } from "bun:test";
import { METRICS } from "../../../src/analyse/metrics/registry.ts";
import { OP } from "../../../src/schema/operation.ts";
import { type CoverageRow, coverageOf } from "../../../src/simulate/coverage.ts";
import { tryWorld } from "../../../src/simulate/trial.ts";
import type { WorldKind } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { EXPERTS, GUESSED_ROWS, ONE_AND_SEVERAL, ROW_CACHES } from "./row-caches.ts";

const SEEDS = 8;
/** Of 8 intervals of 95 % more miss with a chance of 0.6 %. */
const MOST_MISSED = 2;
/** Of all answers of a world together. */
const LEAST_OF_ALL = 0.95;
const FIGURES = [
  ...["read_bytes_per_s", "write_bytes_per_s", "reads_per_byte_per_token", "writes_per_byte_per_token"],
  ...["iai_p50_ns", "iai_p90_ns", "write_once_ratio", "working_set_bytes"],
];

/** The watches of a run on rows that were ahead of the head when they were drawn. */
const aheadIn = (kind: WorldKind | undefined) => {
  if (kind === undefined) throw new Error("no such world");
  return tryWorld(kind.make(seededRandom(1)), 1).input.watches.filter(({ design }) => design === "ahead");
};

test.each(ROW_CACHES)(
  "what is told of $name is true",
  (kind) => {
    const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => FIGURES.includes(name)));
    const rows = coverageOf(kind, { seeds: SEEDS, families }).filter(({ metric }) => FIGURES.includes(metric));
    const wrong = rows.filter(({ ok, held, bound, right }) => held + right < ok + bound - MOST_MISSED);
    expect(wrong.map((row) => `${row.region_type} ${row.metric} ${row.phase} ${row.step}`)).toEqual([]);
    const sum = (count: (row: CoverageRow) => number): number => rows.reduce((total, row) => total + count(row), 0);
    expect(sum(({ held, right }) => held + right) / sum(({ ok, bound }) => ok + bound)).toBeGreaterThan(LEAST_OF_ALL);
    // A row without an answer would be true for nothing.
    const ofCache = rows.filter(({ region_type }) => region_type === "kv_cache");
    expect(ofCache.filter(({ ok, bound }) => ok + bound >= SEEDS / 2).length).toBeGreaterThan(ofCache.length / 2);
  },
  120_000,
);

test("rows that are written again while steps are slow, few of all, do not count for as much as the time in which they are", () => {
  const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => name === "write_once_ratio"));
  const rows = coverageOf(GUESSED_ROWS, { seeds: 4, families }).filter(({ region_type }) => region_type === "kv_cache");
  // Rows are drawn ahead by moments: half of them are then written again, of all rows a fifth.
  expect(rows.map(({ truth }) => truth?.lo ?? 0)).toEqual([expect.closeTo(0.8, 1)]);
  expect(rows.map(({ bound, right }) => [bound, right])).toEqual([[4, 4]]);
}, 120_000);

test("rows are watched ahead of their first write, which is what the watches see first", () => {
  const ahead = aheadIn(ROW_CACHES[0]);
  expect(ahead.length).toBeGreaterThanOrEqual(20);
  expect(new Set(ahead.map(({ stratum }) => stratum))).toEqual(new Set(["kv_cache/k", "kv_cache/v"]));
  const first = ahead.flatMap(({ hit_op }) => hit_op[0] ?? []);
  expect(first.length).toBeGreaterThanOrEqual(20);
  expect(first.filter((op) => op !== OP.store)).toEqual([]);
});

test("of a cache of two sequences no row is the next, so that none is watched ahead", () => {
  expect(aheadIn(ROW_CACHES[1])).toEqual([]);
});

test("rows of a cache that has one sequence and several by turns count alike, though half of the draws go ahead while it has one", () => {
  const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => name === "read_bytes_per_s"));
  const rows = coverageOf(ONE_AND_SEVERAL, { seeds: 12, families });
  const read = rows.find((row) => row.region_type === "kv_cache" && row.metric === "read_bytes_per_s");
  expect(read?.ok).toBe(12);
  expect(read?.held ?? 0).toBeGreaterThanOrEqual(11);
  expect(read?.ratio).toBeWithin(0.92, 1.08);
}, 120_000);

test("weights of which steps use few while there are rows ahead count alike, though turns of the cache go to these", () => {
  const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => name === "read_bytes_per_s"));
  const rows = coverageOf(EXPERTS, { seeds: 12, most: 12, families });
  const read = rows.find(({ region_type, phase }) => region_type === "weight" && phase === "all");
  expect(read?.ok).toBe(12);
  expect(read?.held ?? 0).toBeGreaterThanOrEqual(11);
  expect(read?.ratio).toBeWithin(0.97, 1.03);
}, 120_000);

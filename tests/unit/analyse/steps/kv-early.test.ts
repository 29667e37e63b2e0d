/** Figures of KV rows where some batches came before it was known what their context held. */
import { describe, expect, test } from "bun:test";
import { kvNeedPoints } from "../../../../src/analyse/curves/kv-points.ts";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import type { KvRowSample } from "../../../../src/analyse/input/input.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { RETENTION } from "../../../../src/analyse/metrics/retention.ts";
import { cacheClears } from "../../../../src/analyse/steps/cache-clears.ts";
import { input, MS, region } from "../sample-input.ts";
import { one, STEPS } from "../sample-weights.ts";

const WHY = "20 of 180 batches were before their context was known";
const CACHE = [region({ region_type: "kv_cache", size_bytes: 180 * 1024 })];
/** The rows of the steps from 20 on, each of a sequence of its own that needs it for so many steps as it has come late. */
const ROWS: readonly KvRowSample[] = STEPS.slice(20).map((step, i) => ({
  ...{ write_ns: step.begin_ns + MS, is_written: true, last_read_ns: step.begin_ns + (1 + i) * MS },
  ...{ evict_ns: 1000 * MS, total_reads: 1 + i, size_bytes: 1024, filling: i, writes: "once" },
}));
const early = (written_share: number, needed_share = written_share) => ({
  ...{ why: WHY, written_share, needed_share, held: [[0, 90 * MS]] as const },
});
const inputOf = (kvEarly: ReturnType<typeof early> | null, kvRows = ROWS) =>
  input({ steps: STEPS, kvRows, kvEarly, regions: CACHE });
const figure = (metric: string, kvEarly: ReturnType<typeof early> | null, kvRows = ROWS, step = "all") =>
  one(computeMetrics(inputOf(kvEarly, kvRows)), metric, step, "step");

describe("where batches came before their context was known", () => {
  test("what was written and read, and how often, is a bound from below that says so", () => {
    for (const metric of ["write_bytes_per_s", "read_bytes_per_s", "needs_per_write", "reads_per_write"]) {
      const row = figure(metric, early(0.1));
      expect(row).toMatchObject({ status: "bound", value: null, hi: null });
      expect(row.why).toContain(WHY);
      expect(row.lo ?? 0).toBeGreaterThan(0);
      expect(row.lo ?? 0).toBeLessThanOrEqual(figure(metric, null).value ?? figure(metric, null).lo ?? 0);
    }
    const needs = figure("needs_per_write", null).value ?? 0;
    expect(figure("needs_per_write", early(0.1)).lo).toBeCloseTo(0.9 * needs, 9);
  });

  test("their rows may be written once or not", () => {
    const row = figure("write_once_ratio", early(0.1));
    expect(row).toMatchObject({ status: "bound", value: null, hi: 1, why: WHY });
    expect(row.lo).toBeCloseTo(0.9, 9);
    const varied = ROWS.map((one, i): KvRowSample => ({ ...one, writes: i % 5 === 0 ? "more" : "once" }));
    const [bare, wide] = [figure("write_once_ratio", null, varied), figure("write_once_ratio", early(0.1), varied)];
    expect(wide.lo).toBeCloseTo(0.9 * (bare.lo ?? 0), 9);
    expect(wide.hi).toBeCloseTo(0.9 * (bare.hi ?? 0) + 0.1, 9);
  });

  test("their rows may be needed for a shorter or a longer time than any that is known", () => {
    const [bare, wide] = [figure("retention_p50_ns", null), figure("retention_p50_ns", early(0.1))];
    expect(wide).toMatchObject({ status: "ok", value: bare.value, why: WHY });
    expect(wide.lo ?? 0).toBeLessThan((bare.lo ?? 0) - 5 * MS);
    expect(wide.hi ?? 0).toBeGreaterThan((bare.hi ?? 0) + 5 * MS);
    // Those of the first batches with all that is known in a cruel order: none needed at all, or all longer than the rest.
    const all = (needed_ns: number) =>
      figure("retention_p50_ns", null, [
        ...ROWS,
        ...STEPS.slice(0, 18).map((step, i) => ({
          ...(ROWS[0] as KvRowSample),
          filling: 1000 + i,
          write_ns: step.begin_ns,
          last_read_ns: step.begin_ns + needed_ns,
        })),
      ]).value;
    expect(wide.lo ?? 1e12).toBeLessThanOrEqual(all(0) ?? 0);
    expect(wide.hi ?? 0).toBeGreaterThanOrEqual(all(800 * MS) ?? 1e12);
  });

  test("no end is told that lies among them alone", () => {
    expect(figure("retention_p50_ns", early(0.6))).toMatchObject({ status: "insufficient", lo: null, hi: null });
    expect(figure("age_at_read_p50_ns", early(0, 1))).toMatchObject({ status: "insufficient", lo: null, hi: null });
    expect(figure("retention_p99_ns", early(0.02)).hi).toBeNull();
  });

  test("the band of a curve has room for them on both sides", () => {
    const pointsOf = (kvEarly: ReturnType<typeof early> | null) => {
      const group = groupsOf(inputOf(kvEarly)).find(({ region_type }) => region_type === "kv_cache");
      return group === undefined ? [] : kvNeedPoints(group, RETENTION, false);
    };
    const [bare, wide] = [pointsOf(null), pointsOf(early(0.1))];
    expect(wide.length).toBeGreaterThan(10);
    for (const [i, { y, lo, hi }] of wide.entries()) {
      expect(y).toBe(bare[i]?.y ?? Number.NaN);
      expect(hi ?? 1).toBeGreaterThanOrEqual(Math.min(1, (bare[i]?.hi ?? 1) * 0.9 + 0.1 - 1e-9));
      expect(lo ?? 0).toBeLessThanOrEqual(bare[i]?.lo ?? 0);
    }
  });

  test("the cache is empty where they and all other rows have left it", () => {
    const [row] = ROWS as [KvRowSample, ...KvRowSample[]];
    const rows = [{ ...row, write_ns: 100, evict_ns: 200 }];
    expect([...cacheClears(rows, [[0, 90]])]).toEqual([90, 200]);
    expect([...cacheClears(rows, [[0, 150]])]).toEqual([200]);
  });
});

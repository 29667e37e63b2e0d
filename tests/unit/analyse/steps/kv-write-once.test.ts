import { describe, expect, test } from "bun:test";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import type { KvRowSample } from "../../../../src/analyse/input/input.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { kvWriteOnce } from "../../../../src/analyse/steps/kv-write-once.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { input, MS, region } from "../sample-input.ts";

const STEPS = [{ step: "decode" as const, begin_ns: 0, end_ns: 900 * MS, n_tokens: 1 }];

/** Ten rows of 256 bytes of a sequence, of which the first `more` were written more than once. */
const sequence = (filling: number, more: number, others: KvRowSample["writes"] = "more"): KvRowSample[] =>
  Array.from({ length: 10 }, (_, i) => ({
    write_ns: i * MS,
    is_written: true,
    last_read_ns: 500 * MS,
    evict_ns: 600 * MS,
    total_reads: 3,
    size_bytes: 256,
    filling,
    writes: i < more ? others : "once",
  }));

const figure = (kvRows: readonly KvRowSample[], kvWritesUntold: string | null = null) =>
  computeMetrics(input({ steps: STEPS, kvRows, kvWritesUntold, regions: [region({ region_type: "kv_cache" })] })).find(
    ({ metric, source }) => metric === "write_once_ratio" && source === "step",
  );

describe("write-once of KV rows by the engine's steps", () => {
  test("is a count where all sequences are alike, however few they are", () => {
    expect(figure(sequence(0, 0))).toMatchObject({ status: "ok", value: 1, lo: 1, hi: 1, n: 1, ci_level: null });
    expect(figure([0, 1].flatMap((k) => sequence(k, 10)))).toMatchObject({
      status: "ok",
      value: 0,
      lo: 0,
      hi: 0,
      n: 2,
    });
  });

  test("has an interval over sequences where they vary, and none of too few of them", () => {
    const row = figure(Array.from({ length: 20 }, (_, k) => sequence(k, k % 5)).flat());
    expect(row).toMatchObject({ status: "ok", n: 20, ci_level: 0.95 });
    expect(row?.value).toBeCloseTo(0.8, 9);
    expect(row?.lo).toBeLessThan(0.8);
    expect(row?.hi).toBeGreaterThan(0.8);
    expect(figure([0, 1, 2].flatMap((k) => sequence(k, k)))?.status).toBe("insufficient");
  });

  test("has the tails of few sequences where they are few: as many intervals hold the share of ever so many as should", () => {
    const random = seededRandom(1, 9);
    let held = 0;
    for (let run = 0; run < 300; run++) {
      const kvRows = Array.from({ length: 6 }, (_, k) => sequence(k, Math.floor(11 * random()))).flat();
      const [group] = groupsOf(input({ steps: STEPS, kvRows, regions: [region({ region_type: "kv_cache" })] }));
      const { lo, hi } = (group && kvWriteOnce(group, "write_once_ratio")[0]?.estimate) ?? { lo: null, hi: null };
      if ((lo ?? 1) <= 0.5 && (hi ?? 0) >= 0.5) held += 1;
    }
    expect(held / 300).toBeGreaterThanOrEqual(0.93);
  });

  test("lies between two bounds where positions were moved, for which keys may be written again", () => {
    expect(figure(sequence(0, 3, "perhaps_more"))).toMatchObject({ status: "bound", value: null, lo: 0.7, hi: 1 });
  });

  test("is not told where something speaks against the steps, or nothing was written", () => {
    const why = "2 rows were seen written once more, of which the engine's steps do not tell";
    expect(figure(sequence(0, 0), why)).toMatchObject({ status: "not_identifiable", why });
    expect(figure(sequence(0, 0).map((row) => ({ ...row, is_written: false })))).toBeUndefined();
  });
});

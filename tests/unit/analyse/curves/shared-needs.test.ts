/** The curve of reads per write where states of several sequences came back, and nobody tells which rows these share. */
import { describe, expect, test } from "bun:test";
import type { CurvePoint } from "../../../../src/analyse/curves/curve.ts";
import { kvNeedPoints } from "../../../../src/analyse/curves/kv-points.ts";
import { readsPerWriteCurve } from "../../../../src/analyse/curves/reads-per-write.ts";
import { type Group, groupsOf } from "../../../../src/analyse/input/group.ts";
import type { KvRowSample } from "../../../../src/analyse/input/input.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { RETENTION } from "../../../../src/analyse/metrics/retention.ts";
import { neededTogether } from "../../../../src/analyse/steps/shared-rows.ts";
import { input, MS, region } from "../sample-input.ts";
import { STEPS } from "../sample-weights.ts";

/** Rows of each sequence; times that a state came back; needs of each row of each sequence that did. */
const ROWS = 12;
const TIMES = 60;
const NEEDED = 7;

const row = (filling: number, total_reads: number, may_share?: string): KvRowSample => ({
  ...{ write_ns: 100 * MS, is_written: true, last_read_ns: (100 + 10 * total_reads) * MS, evict_ns: 950 * MS },
  ...{ total_reads, size_bytes: 1024, filling, writes: "once" },
  ...(may_share === undefined ? {} : { may_share }),
});

/** Rows of so many sequences that came back with each state. */
const restored = (times: number, sequences: number, total_reads: number, isTold = true) =>
  Array.from({ length: times * sequences * ROWS }, (_, i) => {
    const filling = Math.floor(i / ROWS);
    return row(1000 + filling, total_reads, isTold ? undefined : `${Math.floor(filling / sequences)}`);
  });

/** Other sequences, whose rows are needed by 1 to 6 steps each, and by 40 to 45. */
const others = (sequences: number) =>
  Array.from({ length: sequences * ROWS }, (_, i) =>
    row(Math.floor(i / ROWS), (i % 2 === 0 ? 1 : 40) + ((i >> 1) % 6)),
  );

function groupOf(kvRows: readonly KvRowSample[]): { readonly group: Group; readonly points: readonly CurvePoint[] } {
  const given = input({ steps: STEPS, kvRows, regions: [region({ region_type: "kv_cache", size_bytes: 8 << 20 })] });
  const group = groupsOf(given).find(({ region_type, span }) => region_type === "kv_cache" && span.step === "all");
  if (group === undefined) throw new Error("no group");
  const figures = computeMetrics(given).filter(({ region_type, step }) => region_type === "kv_cache" && step === "all");
  return { group, points: readsPerWriteCurve(group, figures, [])?.points ?? [] };
}

/** The share of the bytes that more than x steps need. */
const above = (rows: readonly KvRowSample[], x: number): number =>
  rows.filter(({ total_reads }) => total_reads > x).length / rows.length;

describe.each([2, 4])("rows that came back for %i sequences", (sequences) => {
  /** What may be true: each has its rows, or they are the same ones, needed by one step after the other or by the same steps. */
  const worlds = (times: number) =>
    [
      ["share none", restored(times, sequences, NEEDED)],
      ["share all, each in steps of its own", restored(times, 1, sequences * NEEDED)],
      ["share all, in the same steps", restored(times, 1, NEEDED)],
    ] as const;
  const few = others(300);
  const { points } = groupOf([...few, ...restored(TIMES, sequences, NEEDED, false)]);

  test.each(worlds(TIMES))("that %s are needed as often as the band has room for", (_, rows) => {
    expect(points.length).toBeGreaterThan(10);
    for (const { x, lo, hi } of points) {
      const truth = above([...few, ...rows], x);
      expect(lo ?? 0).toBeLessThanOrEqual(truth + 1e-9);
      expect(hi ?? 1).toBeGreaterThanOrEqual(truth - 1e-9);
    }
  });

  test("need no room above where all their needs together are fewer", () => {
    const above = neededTogether([...few, ...restored(TIMES, sequences, NEEDED, false)]);
    const share = (TIMES * sequences) / (300 + TIMES * sequences);
    expect(above(sequences * NEEDED - 1)).toBeCloseTo(share, 9);
    expect(above(sequences * NEEDED)).toBe(0);
    expect(neededTogether([...few, ...restored(TIMES, sequences, NEEDED)])(0)).toBe(0);
    expect(neededTogether(restored(TIMES, 1, NEEDED, false))(0)).toBe(0);
  });

  test.each(worlds(1))("that %s are needed as long as the curve of few sequences says at least", (_, rows) => {
    const one = others(1).map((open) => ({ ...open, evict_ns: Number.NaN }));
    const { group } = groupOf([...one, ...restored(1, sequences, NEEDED, false)]);
    const seen = kvNeedPoints(group, RETENTION, true);
    expect(seen.length).toBeGreaterThan(5);
    for (const { x, y, lo, hi } of seen) {
      expect([lo, hi]).toEqual([null, null]);
      expect(y ?? 1).toBeLessThanOrEqual(above([...one, ...rows], x / (10 * MS)) + 1e-9);
    }
  });
});

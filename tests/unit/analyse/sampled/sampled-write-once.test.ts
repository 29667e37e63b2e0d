import { describe, expect, test } from "bun:test";
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import type { StoreRuns, WrittenBlocks } from "../../../../src/analyse/input/input.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { missedShare, onceOfWritten } from "../../../../src/analyse/sampled/missed-epochs.ts";
import { mostBlocks } from "../../../../src/analyse/watched/block-lives.ts";
import { everyRow } from "../../../../src/columnar/keys/number-order.ts";
import type { LedgerRow } from "../../../../src/schema/ledger.ts";
import { ledgerRow } from "../../../fixtures/ledger.ts";
import { type GivenRegion, regionsOf } from "../../../fixtures/regions.ts";
import { input, MS, region } from "../sample-input.ts";

const runs = (blocks: number, each: number, samples: number, over: Partial<StoreRuns> = {}): StoreRuns => ({
  blocks,
  runs: blocks * each,
  samples: blocks * each * samples,
  runs_of_1: 0,
  runs_of_2: 0,
  ...over,
});
const NONE = runs(0, 0, 0);

describe("the share of epochs without a sample", () => {
  test("is that of a Poisson count whose zeros are not seen, at the lower limit of its mean", () => {
    // 1,000 runs of 5,034 samples: mean 5.034 of those seen is 5 of all, so exp(-5) = 0.0067 are not.
    const found = missedShare({ ...runs(1000, 1, 0), samples: 5034, runs_of_1: 34, runs_of_2: 84 });
    expect(found).toBeGreaterThan(Math.exp(-5));
    expect(found).toBeLessThan(0.025);
  });

  test("is what runs of one and two samples tell, where epochs are unlike", () => {
    const even = missedShare(runs(1000, 1, 10));
    const uneven = missedShare({ ...runs(1000, 1, 10), runs_of_1: 100, runs_of_2: 20 });
    expect(even).toBeLessThan(0.001);
    // Chao1 alone: 100^2 / (2 * 20) = 250 more.
    expect(uneven).toBeGreaterThan(250 / 1250);
  });

  test("is not known where no run has two samples, and 0 without runs", () => {
    expect(missedShare({ ...runs(500, 1, 1), runs_of_1: 500 })).toBe(1);
    expect(missedShare(NONE)).toBe(0);
  });

  test("widens the share of blocks that appear to be written once, in both directions", () => {
    expect(onceOfWritten(0.5, 0.5, 0)).toEqual({ lo: 0.5, hi: 0.5 });
    const { lo, hi } = onceOfWritten(0.5, 0.5, 0.04);
    // Written twice with 4 % missed each: 7.68 % of those blocks appear to be written once.
    expect(lo).toBeLessThan(0.48);
    expect(lo).toBeGreaterThan(0.45);
    expect(hi).toBeCloseTo(1 / 1.96, 4);
    expect(onceOfWritten(0, 1, 0.05)).toEqual({ lo: 0, hi: 1 });
  });
});

describe("the most blocks that can have been written", () => {
  const of = (addr: number, size_bytes: number, over = {}) => region({ addr: BigInt(addr), size_bytes, ...over });
  const mostOf = (given: readonly GivenRegion[], clears: number): number => {
    const regions = regionsOf(given);
    return mostBlocks({ all: regions, rows: everyRow(regions.count) }, 4096, clears);
  };

  test("counts a block that several regions touch once", () => {
    expect(mostOf([of(0, 8192), of(4096, 100), of(100, 50), of(8000, 200)], 0)).toBe(3);
    expect(mostOf([of(0, 4096), of(0, 4096, { pid: 2 })], 0)).toBe(2);
    expect(mostOf([of(0, 0)], 0)).toBe(0);
  });

  test("counts it again where a region that held it died, and where the cache was emptied", () => {
    expect(mostOf([of(100, 8192, { death_censored: false }), of(0, 4096)], 0)).toBe(4);
    expect(mostOf([of(0, 4096)], 2)).toBe(3);
  });
});

function rows(
  written: readonly WrittenBlocks[],
  source = "pebs",
  unshadowed: readonly ("loads" | "stores")[] = ["stores"],
  ledger: readonly LedgerRow[] = [],
): MetricRow[] {
  const all = computeMetrics(
    input({
      unshadowed,
      ledger,
      regions: [region({ size_bytes: 400 * 4096 })],
      accessSums: [
        {
          region_type: "activation",
          mapping_kind: null,
          step: "none",
          source,
          period_known: true,
          loads: Float64Array.of(1000),
          stores: Float64Array.of(1000),
          rows: 1000,
          load_rows: 1000,
          store_rows: 1000,
          seen: [],
          written,
        },
      ],
    }),
  );
  return all.filter((row) => row.metric === "write_once_ratio");
}

function only(once: StoreRuns, rewritten: StoreRuns, open: StoreRuns): MetricRow | undefined {
  return rows([{ grain_bytes: 4096, once, rewritten, open }])[0];
}

describe("write-once by samples", () => {
  test("has a value where epochs have many samples, and says how many epochs may be missed", () => {
    const row = only(runs(150, 1, 12), runs(50, 3, 12), NONE);
    expect([row?.status, row?.value, row?.n, row?.source, row?.grain_bytes]).toEqual(["ok", 0.75, 200, "pebs", 4096]);
    expect(row?.lo ?? 0).toBeGreaterThan(0.66);
    expect(row?.hi ?? 1).toBeLessThan(0.83);
    expect(row?.why).toMatch(/^12 store samples in a write epoch: at most 0\.00\d+ % of the epochs missed$/);
  });

  test("is bounded on both sides where some pauses may lie within an epoch, and is not known where most may", () => {
    const some = only(runs(150, 1, 12), runs(50, 3, 12), runs(40, 2, 12));
    expect([some?.status, some?.value]).toEqual(["bound", null]);
    expect(some?.lo ?? 1).toBeLessThan(150 / 240);
    expect(some?.hi ?? 0).toBeGreaterThan(190 / 240);
    expect(some?.why).toContain("in 40 of 240 blocks a pause between samples may lie within one epoch");
    expect(only(runs(40, 1, 12), NONE, runs(60, 2, 12))?.status).toBe("not_identifiable");
  });

  test("is bounded by the blocks seen rewritten where epochs are missed: of all blocks that there are", () => {
    const row = only(runs(100, 1, 2), runs(100, 6, 2), NONE);
    expect([row?.status, row?.value, row?.lo, row?.hi]).toEqual(["bound", null, 0, 0.75]);
    expect(row?.why).toMatch(/% of the epochs missed, more than 5 %$/);
  });

  test("is refused where samples are thin and no block is surely rewritten", () => {
    const row = only(runs(300, 1, 1, { runs_of_1: 300 }), NONE, runs(20, 2, 1, { runs_of_1: 40 }));
    expect([row?.status, row?.lo, row?.hi]).toEqual(["not_identifiable", null, null]);
    expect(row?.why).toBe("1.0 store samples in a write epoch: at most 100 % of the epochs missed, more than 5 %");
  });

  test("is refused without a store, by a timer, and with fewer than 30 blocks", () => {
    expect(rows([])[0]).toMatchObject({ status: "not_identifiable", why: "no store among 1000 samples" });
    expect(rows([], "clock")[0]?.why).toContain("a timer sees loads that stall");
    expect(only(runs(20, 1, 12), NONE, NONE)?.status).toBe("insufficient");
  });

  test("is refused where a sample may be of a store behind the one that it counts: none may be of a whole epoch", () => {
    const seen = [{ grain_bytes: 4096, once: runs(150, 1, 12), rewritten: runs(50, 3, 12), open: NONE }];
    for (const unshadowed of [[], ["loads"]] as const) {
      const [row] = rows(seen, "pebs", unshadowed);
      expect([row?.status, row?.value, row?.hi]).toEqual(["not_identifiable", null, null]);
      expect(row?.why).toContain("some cycles after");
    }
    expect(rows(seen, "ibs", [])[0]?.status).toBe("ok");
  });

  test("leaves open what lost samples may have made look rewritten", () => {
    const seen = [{ grain_bytes: 4096, once: runs(150, 1, 12), rewritten: runs(50, 3, 12), open: NONE }];
    const lossy = (dropped: number) =>
      rows(seen, "ibs", [], [ledgerRow({ stream: "access", source: "ibs", stage: "ring" }, 100_000, dropped)])[0];
    expect(lossy(0)).toMatchObject({ status: "ok", value: 0.75 });
    // 36 samples are lost for 4 blocks of the 50.
    const some = lossy(36);
    expect([some?.status, some?.n_censored]).toEqual(["ok", 4]);
    expect(some?.hi ?? 0).toBeGreaterThan((lossy(0)?.hi ?? 1) + 0.01);
    expect(lossy(500)).toMatchObject({ status: "not_identifiable", value: null });
  });

  test("of pages does not decide on suitability, which is about bytes", () => {
    const all = computeMetrics(
      input({
        window_ns: 1000 * MS,
        regions: [region({ size_bytes: 400 * 4096 })],
        accessSums: [
          {
            region_type: "activation",
            mapping_kind: null,
            step: "none",
            source: "pebs",
            period_known: true,
            loads: Float64Array.of(1000),
            stores: Float64Array.of(1000),
            rows: 1000,
            load_rows: 1000,
            store_rows: 1000,
            seen: [],
            written: [{ grain_bytes: 4096, once: NONE, rewritten: runs(300, 3, 12), open: NONE }],
          },
        ],
      }),
    );
    expect(all.find((row) => row.metric === "suitability")).toMatchObject({ label: "insufficient" });
  });
});

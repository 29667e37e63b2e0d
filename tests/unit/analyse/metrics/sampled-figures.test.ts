import { describe, expect, test } from "bun:test";
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { ledgerRow } from "../../../fixtures/ledger.ts";
import { input, MS, region, watch } from "../sample-input.ts";
import { one } from "../sample-weights.ts";

describe("sampled sources", () => {
  const sums = (source: string) => ({
    region_type: "activation" as const,
    mapping_kind: "anon",
    step: "none" as const,
    source,
    period_known: true,
    loads: Float64Array.from({ length: 50 }, (_, i) => 2000 + 100 * (i % 3)),
    stores: Float64Array.from({ length: 50 }, (_, i) => 1000 + 50 * (i % 3)),
    rows: 5000,
    load_rows: 5000,
    store_rows: 5000,
    seen: [{ grain_bytes: 64, distinct: 120, once: 3, twice: 4 }],
    written: [],
  });
  const rows = (source: string): MetricRow[] =>
    computeMetrics(input({ accessSums: [sums(source)], regions: [region()], unshadowed: ["loads", "stores"] }));

  test("cannot tell intervals, retention, bytes, or reads per write, and say so", () => {
    for (const source of ["pebs", "ibs"]) {
      for (const metric of ["iai_p50_ns", "retention_p50_ns", "read_bytes_per_s", "reads_per_write"]) {
        const row = one(rows(source), metric, "all", source);
        expect([metric, row.status, row.value]).toEqual([metric, "not_identifiable", null]);
        expect(row.why?.length ?? 0).toBeGreaterThan(10);
      }
    }
  });

  test("tell the mix of instructions, the rate, the mean interval, and bounds of the working set", () => {
    const all = rows("pebs");
    expect(one(all, "loads_per_store", "all", "pebs").value).toBeCloseTo(2, 12);
    expect(one(all, "loads_per_s", "all", "pebs").value ?? 0).toBeCloseTo(
      sums("").loads.reduce((a, b) => a + b),
      3,
    );
    const accesses = sums("").loads.reduce((a, b) => a + b) * 1.5;
    expect(one(all, "iai_mean_ns", "all", "pebs").value ?? 0).toBeCloseTo((1e9 * 125) / accesses, 3);
    const set = one(all, "working_set_bytes", "all", "pebs");
    expect(set.grain_bytes).toBe(64);
    expect([set.status, set.value, set.lo, set.hi]).toEqual(["bound", null, 120 * 64, 8000]);
  });

  describe("where those of PEBS may be of neighbours of what they count", () => {
    const both = [sums("pebs"), { ...sums("pebs"), region_type: "weight" as const, mapping_kind: null }];
    const figures = (unshadowed: readonly ("loads" | "stores")[]) =>
      computeMetrics(input({ accessSums: both, regions: [region()], unshadowed }));
    const ofClass = (all: readonly MetricRow[], metric: string) =>
      all.find((row) => row.metric === metric && row.source === "pebs" && row.region_type === "activation");

    test("bound a class by all classes together, and say why", () => {
      const [sure, open] = [figures(["loads", "stores"]), figures([])];
      for (const metric of ["loads_per_s", "stores_per_s"]) {
        const row = ofClass(open, metric);
        expect(row).toMatchObject({ status: "bound", value: null, lo: null });
        // Both classes have as many.
        expect((row?.hi ?? 0) / (ofClass(sure, metric)?.hi ?? 1)).toBeCloseTo(2, 1);
        expect(row?.why).toContain("watches have no such shadow");
      }
      const mean = ofClass(open, "iai_mean_ns");
      expect(mean).toMatchObject({ status: "bound", value: null, hi: null });
      expect((mean?.lo ?? 0) / (ofClass(sure, "iai_mean_ns")?.lo ?? 1)).toBeCloseTo(0.5, 1);
      expect(ofClass(open, "loads_per_store")).toMatchObject({ status: "not_identifiable", value: null });
    });

    test("tell the kind that was sampled at the level without a shadow", () => {
      const all = figures(["loads"]);
      expect(ofClass(all, "loads_per_s")?.status).toBe("ok");
      for (const metric of ["stores_per_s", "iai_mean_ns"]) expect(ofClass(all, metric)?.status).toBe("bound");
    });
  });

  test("tell a working set where they fell on all blocks that are mapped", () => {
    const all = { ...sums("pebs"), seen: [{ grain_bytes: 4096, distinct: 2, once: 0, twice: 0 }] };
    const rows = computeMetrics(input({ accessSums: [all], regions: [region({ size_bytes: 8192 })] }));
    expect(one(rows, "working_set_bytes", "all", "pebs")).toMatchObject({
      status: "ok",
      value: 8192,
      lo: 8192,
      hi: 8192,
    });
  });

  test("do not take the most memory at a time for all that a class has, where it comes and goes elsewhere", () => {
    const all = { ...sums("pebs"), seen: [{ grain_bytes: 4096, distinct: 3, once: 0, twice: 0 }] };
    const regions = [0, 1, 2, 3].map((i) =>
      region({ addr: BigInt(i) << 20n, size_bytes: 4096, birth_ns: 250 * i * MS, death_ns: 250 * (i + 1) * MS }),
    );
    const found = computeMetrics(input({ accessSums: [all], regions, unshadowed: ["loads", "stores"] }));
    // One page at a time, four of them in all.
    const set = one(found, "working_set_bytes", "all", "pebs");
    expect([set.status, set.value, set.lo, set.hi]).toEqual(["bound", null, 3 * 4096, 4 * 4096]);
    const accesses = sums("").loads.reduce((a, b) => a + b) * 1.5;
    expect(one(found, "iai_mean_ns", "all", "pebs").value ?? 0).toBeCloseTo((1e9 * 64) / accesses, 3);
  });

  test("count the lines of a class for the time that they are there", () => {
    const regions = [region(), region({ addr: 1n << 30n, birth_ns: 900 * MS })];
    const found = computeMetrics(input({ accessSums: [sums("ibs")], regions }));
    const accesses = sums("").loads.reduce((a, b) => a + b) * 1.5;
    expect(one(found, "iai_mean_ns", "all", "ibs").value ?? 0).toBeCloseTo((1e9 * 125 * 1.1) / accesses, 3);
  });

  test("tell no mean interval of a few loads among many samples of neither loads nor stores", () => {
    const none = new Float64Array(50);
    const few = { ...sums("ibs"), loads: none.with(3, 99).with(20, 99).with(41, 99), stores: none };
    const found = computeMetrics(
      input({ accessSums: [{ ...few, rows: 100, load_rows: 3, store_rows: 0 }], regions: [region()] }),
    );
    expect(one(found, "iai_mean_ns", "all", "ibs")).toMatchObject({
      status: "insufficient",
      value: null,
      why: "samples of accesses in 3 blocks of time, fewer than 10",
    });
  });

  test("have ends a period away though each block of time has as many as any other", () => {
    const alike = (count: number) => new Float64Array(40).fill(count);
    const even = { ...sums("ibs"), loads: alike(1000), stores: alike(500), load_rows: 400, store_rows: 400 };
    const found = computeMetrics(input({ accessSums: [even], regions: [region()] }));
    const loads = one(found, "loads_per_s", "all", "ibs");
    expect(loads.value ?? 0).toBeCloseTo(40_000, 6);
    expect([loads.lo ?? 0, loads.hi ?? 0].map(Math.round)).toEqual([39_900, 40_100]);
    const mix = one(found, "loads_per_store", "all", "ibs");
    expect(mix.lo ?? 0).toBeCloseTo((2 * 399) / 401, 9);
    expect(mix.hi ?? 0).toBeCloseTo((2 * 401) / 399, 9);
  });

  test("allow for being told by luck where hardly as many samples were taken as that takes", () => {
    const ends = (rows: number) => {
      const sum = { ...sums("ibs"), load_rows: rows, store_rows: 4000 };
      const found = computeMetrics(input({ accessSums: [sum], regions: [region()] }));
      return [one(found, "loads_per_s", "all", "ibs"), one(found, "loads_per_store", "all", "ibs")];
    };
    const [usual, few, fewest] = [4000, 40, 30].map(ends);
    for (const k of [0, 1]) {
      expect((few?.[k]?.lo ?? 0) / (usual?.[k]?.lo ?? 0)).toBeWithin(0.7, 0.95);
      expect((fewest?.[k]?.lo ?? 0) / (usual?.[k]?.lo ?? 0)).toBeWithin(0.01, 0.1);
      expect([fewest?.[k]?.status, fewest?.[k]?.value]).toEqual(["ok", usual?.[k]?.value ?? 0]);
    }
  });

  test("allow for samples that were lost, of which all may have been of one class", () => {
    const rates = (dropped: number) => {
      const ledger = [ledgerRow({ stream: "access", source: "ibs", stage: "ring" }, 100_000, dropped)];
      return computeMetrics(input({ accessSums: [sums("ibs")], regions: [region()], ledger }));
    };
    const [all, most] = [rates(0), rates(500)];
    for (const metric of ["loads_per_s", "stores_per_s"]) {
      const [before, after] = [one(all, metric, "all", "ibs"), one(most, metric, "all", "ibs")];
      // 500 more of 5000.
      expect([after.status, after.lo]).toEqual(["ok", before.lo]);
      expect((after.hi ?? 0) / (before.hi ?? 1)).toBeCloseTo(1.1, 9);
    }
    const [before, after] = [one(all, "loads_per_store", "all", "ibs"), one(most, "loads_per_store", "all", "ibs")];
    expect((after.hi ?? 0) / (before.hi ?? 1)).toBeCloseTo(1.1, 9);
    expect((before.lo ?? 0) / (after.lo ?? 1)).toBeCloseTo(1.1, 9);
  });

  test("tell no rate of fewer than 30 samples of its kind, however many there are of the other", () => {
    const few = { ...sums("pebs"), store_rows: 29 };
    const all = computeMetrics(input({ accessSums: [few], regions: [region()], unshadowed: ["loads", "stores"] }));
    expect(one(all, "loads_per_s", "all", "pebs").status).toBe("ok");
    for (const metric of ["stores_per_s", "loads_per_store"]) {
      const why = "29 samples of stores, fewer than 30";
      expect(one(all, metric, "all", "pebs")).toMatchObject({ status: "insufficient", value: null, why });
    }
  });

  test("bound a working set by whole lines, of which a tensor that begins within one has more than its bytes", () => {
    const rows = computeMetrics(input({ accessSums: [sums("pebs")], regions: [region({ addr: 32n })] }));
    // 8000 bytes from byte 32 on lie in 126 lines.
    expect(one(rows, "working_set_bytes", "all", "pebs")).toMatchObject({ status: "bound", hi: 126 * 64 });
  });

  test("the timer's mix is never printed", () => {
    for (const metric of ["reads_per_write", "loads_per_store"]) {
      const row = one(rows("clock"), metric, "all", "clock");
      expect([row.status, row.value]).toEqual(["not_identifiable", null]);
    }
  });
});

describe("64-byte lines", () => {
  const lines = (again: (line: number) => boolean): WatchSample[] =>
    Array.from({ length: 80 }, (_, i) => {
      const line = i >> 1;
      const hits: (readonly [number, "store"])[] = [[50 * MS, "store"]];
      if (again(line) && i % 2 === 0) hits.push([80 * MS, "store"]);
      return watch(hits, {
        design: "cohort",
        mode: "w",
        addr: BigInt(64 * line + 8 * (i & 1)),
        begin_ns: 0,
        end_ns: 1000 * MS,
        ended_by: "end",
      });
    });

  test("of which two words were watched can only be found rewritten: an upper bound", () => {
    const row = computeMetrics(input({ watches: lines((line) => line % 2 === 0) })).find((r) => r.grain_bytes === 64);
    expect([row?.metric, row?.status, row?.value, row?.n]).toEqual(["write_once_ratio", "bound", null, 40]);
    expect(row?.hi ?? 0).toBeGreaterThan(0.5);
    expect(row?.hi ?? 1).toBeLessThan(0.7);
  });
});

/** What is said of allocations alone: classes of mappings have no such figure. */

import { describe, expect, test } from "bun:test";
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
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

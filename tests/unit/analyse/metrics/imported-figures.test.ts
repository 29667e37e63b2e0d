import { describe, expect, test } from "bun:test";
import type { AccessStream, AccessSums } from "../../../../src/analyse/input/input.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { addressSums } from "../../../../src/analyse/stream/address-pass.ts";
import { binnedTimes } from "../../../../src/analyse/stream/binned-times.ts";
import { input } from "../sample-input.ts";
import { one } from "../sample-weights.ts";

const BLOCKS = 50;
const rowsIn = (blocks: number): Float64Array => Float64Array.from({ length: BLOCKS }, (_, i) => (i < blocks ? 20 : 0));

/** A class of a trace of somebody else's: 20 rows of a kind in each of so many blocks of time. */
function classOf(loads: number, stores: number, period: number, over: Partial<AccessSums> = {}): AccessSums {
  return {
    region_type: "activation",
    mapping_kind: null,
    step: "none",
    source: "import",
    period_known: true,
    loads: rowsIn(loads).map((rows) => rows * period),
    stores: rowsIn(stores).map((rows) => rows * period),
    rows: 20 * (loads + stores),
    load_rows: 20 * loads,
    store_rows: 20 * stores,
    seen: [{ grain_bytes: 64, distinct: 120, once: 3, twice: 4 }],
    written: [],
    ...over,
  };
}

const WHOLE: AccessStream = {
  ...addressSums(),
  region_type: "activation",
  mapping_kind: null,
  pairs: new Float64Array(BLOCKS),
  same_page: new Float64Array(BLOCKS),
  strides: binnedTimes(),
  runs: binnedTimes(),
};

const figuresOf = (sums: AccessSums, streams: readonly AccessStream[] = []) =>
  computeMetrics(input({ accessSums: [sums], streams }));
const figure = (rows: ReturnType<typeof figuresOf>, metric: string) => one(rows, metric, "all", "import");

describe("a trace of which each row stands for many accesses", () => {
  test("does not tell that there are none of a kind of which no row is", () => {
    for (const [sums, metric] of [
      [classOf(50, 0, 1000), "stores_per_s"],
      [classOf(0, 50, 1000), "loads_per_s"],
      [classOf(0, 50, 1000), "reads_per_write"],
      [classOf(50, 1, 1000), "stores_per_s"],
      [classOf(50, 1, 1000), "reads_per_write"],
    ] as const) {
      expect([metric, figure(figuresOf(sums), metric)]).toMatchObject([
        metric,
        { status: "insufficient", value: null },
      ]);
    }
  });

  test("tells rates and ratios of as many rows as samples need", () => {
    const rows = figuresOf(classOf(50, 20, 1000));
    for (const metric of ["loads_per_s", "stores_per_s", "reads_per_write"]) {
      expect([metric, figure(rows, metric).status]).toEqual([metric, "ok"]);
    }
  });
});

test("a trace of which each row stands for many accesses tells nothing where it is too short to tell how far off a value may be", () => {
  const short = classOf(50, 50, 1000, {
    loads: new Float64Array(5).fill(1e5),
    stores: new Float64Array(5).fill(1e5),
  });
  for (const metric of ["loads_per_s", "stores_per_s", "reads_per_write"]) {
    const why = "rows in 5 blocks of time, fewer than 8";
    expect([metric, figure(figuresOf(short), metric)]).toMatchObject([
      metric,
      { status: "insufficient", value: null, why },
    ]);
  }
});

test("a trace that holds every access tells that there is none of a kind", () => {
  const rows = figuresOf(classOf(50, 0, 1), [WHOLE]);
  expect(figure(rows, "stores_per_s")).toMatchObject({ status: "ok", value: 0, lo: 0, hi: 0 });
  const written = figuresOf(classOf(0, 50, 1), [WHOLE]);
  expect(figure(written, "reads_per_write")).toMatchObject({ status: "ok", value: 0 });
});

describe("a trace with accesses of which nobody knows whether they read or wrote", () => {
  const written: AccessStream = { ...WHOLE, written: rowsIn(40), written_once: rowsIn(20) };
  const withUnknown = (rows: number) => {
    const sums = classOf(50, 40, 1, { unknown: { accesses: rows, rows }, rows: 1800 + rows });
    return figuresOf(sums, [written]);
  };

  test("bounds what they may be, where they are more than 1 %", () => {
    const rows = withUnknown(600);
    const ends = (metric: string) => {
      const { status, value, lo, hi, why } = figure(rows, metric);
      expect([metric, status, value, why]).toEqual([
        metric,
        "bound",
        null,
        "25 % of the accesses may have read or written",
      ]);
      return [lo ?? Number.NaN, hi ?? Number.NaN] as const;
    };
    const within = ([lo, hi]: readonly [number, number], least: number, most: number) => {
      expect(lo).toBeLessThanOrEqual(least);
      expect(hi).toBeGreaterThanOrEqual(most);
    };
    within(ends("loads_per_s"), 1000, 1600);
    within(ends("stores_per_s"), 800, 1400);
    within(ends("reads_per_write"), 1000 / 1400, 1600 / 800);
    within(ends("write_once_ratio"), 0, 1000 / 1400);
    for (const metric of ["retention_p50_ns", "age_at_read_p50_ns"]) {
      expect([metric, figure(rows, metric)]).toMatchObject([metric, { status: "insufficient", value: null, lo: null }]);
    }
  });

  test("has room for them in its intervals, where they are fewer", () => {
    const [none, some] = [withUnknown(0), withUnknown(18)];
    const { status, value, hi } = figure(some, "stores_per_s");
    expect([status, Math.round(value ?? 0)]).toEqual(["ok", 800]);
    expect((hi ?? 0) - (figure(none, "stores_per_s").hi ?? 0)).toBeCloseTo(18, 6);
    expect(figure(some, "reads_per_write").lo ?? 0).toBeLessThan(figure(none, "reads_per_write").lo ?? 0);
  });
});

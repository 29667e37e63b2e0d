import { describe, expect, test } from "bun:test";
import type { KvRowSample } from "../../../../src/analyse/input/input.ts";
import { computeMetrics, printedFigures } from "../../../../src/analyse/metrics/registry.ts";
import { input, MS, region, watch } from "../sample-input.ts";
import { one, STEPS } from "../sample-weights.ts";

const CACHE = [region({ region_type: "kv_cache", size_bytes: 180 * 1024 })];

describe("KV rows by the engine's steps", () => {
  /** One row per step, each of a sequence of its own, needed by every later step up to step 180; with `evicted`, freed 1 ms later. */
  const rows = (evicted: boolean): KvRowSample[] =>
    STEPS.map((step, i) => ({
      write_ns: step.begin_ns + MS,
      is_written: true,
      last_read_ns: i < 179 ? 999 * MS : Number.NaN,
      evict_ns: evicted ? 1000 * MS : Number.NaN,
      total_reads: 179 - i,
      size_bytes: 1024,
      filling: i,
      writes: "once" as const,
    }));

  test("rows that were evicted have the median need of their writes", () => {
    const row = one(computeMetrics(input({ steps: STEPS, kvRows: rows(true) })), "retention_p50_ns", "all", "step");
    expect(row.status).toBe("ok");
    expect(Math.abs((row.value ?? 0) / (450 * MS) - 1)).toBeLessThan(0.02);
    expect(row.lo ?? 0).toBeLessThan(row.value ?? 0);
    expect(row.hi ?? 0).toBeGreaterThan(row.value ?? 0);
  });

  test("rows still in the cache leave a bound from below", () => {
    const row = one(computeMetrics(input({ steps: STEPS, kvRows: rows(false) })), "retention_p50_ns", "all", "step");
    expect([row.status, row.value, row.hi]).toEqual(["bound", null, null]);
    expect(row.lo ?? 0).toBeGreaterThan(350 * MS);
    expect(row.lo ?? 0).toBeLessThan(450 * MS);
  });

  test("writes, reads and ages follow from the steps, and the step figure is printed", () => {
    const all = computeMetrics(input({ steps: STEPS, kvRows: rows(false), regions: CACHE }));
    const writes = one(all, "write_bytes_per_s", "decode", "step");
    const window = writes.window_ns / 1e9;
    expect((writes.value ?? 0) * window).toBeCloseTo(180 * 1024, 3);
    const needs = one(all, "needs_per_write", "all", "step");
    expect(needs.value ?? 0).toBeCloseTo(89.5, 6);
    expect(needs).toMatchObject({ lo: needs.value, hi: needs.value, ci_level: null });
    // What a step needs it loads once at least: a bound, whatever the figure is called.
    const reads = one(all, "reads_per_write", "all", "step");
    expect(reads).toMatchObject({ status: "bound", value: null, hi: null });
    expect(reads.lo ?? 0).toBeGreaterThan(75);
    expect(reads.lo ?? 100).toBeLessThan(89.5);
    expect(reads.why).toContain("may load it more often");
    const perByte = one(all, "reads_per_byte_per_token", "decode", "step");
    expect(perByte).toMatchObject({ status: "bound", value: null, hi: null });
    expect(perByte.lo ?? 1).toBeLessThan(89.5 / 180);
    expect(perByte.lo ?? 0).toBeGreaterThan(80 / 180);
    // The age at a read of a triangle of rows: density falls linearly, so the median is (1 - sqrt(1/2)) of 895 ms.
    const age = one(all, "age_at_read_p50_ns", "all", "step");
    expect(Math.abs((age.value ?? 0) / (895 * MS * (1 - Math.SQRT1_2)) - 1)).toBeLessThan(0.03);
    const printed = printedFigures(all).filter((r) => r.metric === "retention_p50_ns");
    expect(printed.map((r) => r.source)).toEqual(["step"]);
  });

  test("writes are a bound from below where rows came back between two steps, of which some may be given up unseen", () => {
    const between = ((STEPS[7]?.end_ns ?? 0) + (STEPS[8]?.begin_ns ?? 0)) / 2;
    const kvRows = rows(false).map((row, i) => (i === 7 ? { ...row, write_ns: between } : row));
    const all = computeMetrics(input({ steps: STEPS, kvRows, regions: CACHE }));
    const writes = one(all, "write_bytes_per_s", "decode", "step");
    expect(writes).toMatchObject({ status: "bound", value: null, hi: null });
    expect(writes.why).toContain("came back");
  });

  test("writes of rows that may be rewritten in their places are at least the first ones", () => {
    const kvRows = rows(false).map((row, i) => (i === 7 ? { ...row, writes: "perhaps_more" as const } : row));
    const writes = one(
      computeMetrics(input({ steps: STEPS, kvRows, regions: CACHE })),
      "write_bytes_per_s",
      "decode",
      "step",
    );
    expect(writes).toMatchObject({ status: "bound", value: null, hi: null });
    expect(writes.lo ?? 0).toBeGreaterThan(0);
    expect(writes.why).toContain("rewritten in their places");
  });

  test("writes of steps of which no row is told may be as many as those of the others", () => {
    const kvRows = rows(false).filter((_, i) => i % 20 !== 0);
    const all = computeMetrics(input({ steps: STEPS, kvRows, regions: CACHE }));
    const bytes = CACHE.reduce((sum, { size_bytes = 0 }) => sum + size_bytes, 0);
    const writes = one(all, "writes_per_byte_per_token", "decode", "step");
    expect(writes.status).toBe("ok");
    expect((writes.value ?? 0) * bytes).toBeCloseTo(0.95 * 1024, 6);
    expect((writes.hi ?? 0) * bytes).toBeGreaterThanOrEqual(1024);
  });
});

describe("a cache of which the engine told after some steps", () => {
  const FIRST = 20;
  // Steps stand still while a tracer attaches: they take more of the time than of the tokens.
  const SLOW = 10 * MS;
  const steps = STEPS.map((step, i) => {
    const late = Math.min(i, FIRST) * SLOW;
    return { ...step, begin_ns: step.begin_ns + late, end_ns: step.end_ns + late };
  });
  const kvRows = steps.slice(FIRST).map(
    (step, i): KvRowSample => ({
      write_ns: step.begin_ns + MS,
      is_written: true,
      last_read_ns: Number.NaN,
      evict_ns: Number.NaN,
      total_reads: 0,
      size_bytes: 1024,
      filling: i,
      writes: "once",
    }),
  );
  const birth_ns = steps[FIRST]?.begin_ns ?? 0;
  const figureOf = (metric: string, birth_censored: boolean) => {
    const cache = [{ ...CACHE[0], birth_ns, birth_censored, death_ns: 2e9 }];
    return one(computeMetrics(input({ steps, kvRows, regions: cache, window_ns: 2e9 })), metric, "decode", "step");
  };

  test("is as large before, and what these steps wrote is not told: they count for nothing", () => {
    const writes = figureOf("writes_per_byte_per_token", true);
    expect(writes).toMatchObject({ status: "ok", n: STEPS.length - FIRST });
    expect((writes.value ?? 0) * 180).toBeCloseTo(1, 9);
    expect((writes.hi ?? 0) * 180).toBeCloseTo(1, 9);
    const written = kvRows.length * 1024;
    const time_ns = (steps.at(-1)?.end_ns ?? 0) - birth_ns;
    expect((figureOf("write_bytes_per_s", true).value ?? 0) / (written / (time_ns / 1e9))).toBeCloseTo(1, 9);
  });

  test("that came in between was not there before", () => {
    const writes = figureOf("writes_per_byte_per_token", false);
    expect(writes.n).toBe(STEPS.length);
    expect((writes.value ?? 0) * 180).toBeGreaterThan(1);
  });
});

describe("KV rows of which a third was there before the first step that was seen", () => {
  const FIRST = 60;
  const seen = STEPS.slice(FIRST);
  const begin_ns = seen[0]?.begin_ns ?? 0;
  /** What is known of the triangle of rows from step FIRST on. */
  const known = STEPS.map(
    (step, i): KvRowSample => ({
      write_ns: i < FIRST ? begin_ns : step.begin_ns + MS,
      is_written: i >= FIRST,
      last_read_ns: i < 179 ? 999 * MS : Number.NaN,
      evict_ns: 1000 * MS,
      total_reads: i < FIRST ? 180 - FIRST : 179 - i,
      size_bytes: 1024,
      filling: Math.max(0, i - FIRST + 1),
      writes: "once" as const,
    }),
  );
  const figure = (rows: readonly KvRowSample[], metric: string, step = "all") =>
    one(computeMetrics(input({ steps: seen, kvRows: rows, regions: CACHE })), metric, step, "step");
  const written = known.filter(({ is_written }) => is_written);

  test("are needed by every step with the rest, and are none of what was written", () => {
    const read = (rows: readonly KvRowSample[]) => figure(rows, "reads_per_byte_per_token", "decode").lo ?? 0;
    expect(read(known) - read(written)).toBeCloseTo(FIRST / 180, 1);
    const writes = figure(known, "write_bytes_per_s", "decode");
    expect(((writes.value ?? 0) * writes.window_ns) / 1e9).toBeCloseTo(written.length * 1024, 3);
    const rate = figure(known, "writes_per_byte_per_token", "decode").value ?? 0;
    expect(rate).toBe(figure(written, "writes_per_byte_per_token", "decode").value ?? 1);
    for (const metric of ["needs_per_write", "retention_p50_ns"]) {
      const { value, n } = figure(written, metric);
      expect(figure(known, metric)).toMatchObject({ value, n });
    }
  });

  test("were older when they were read than since the first step", () => {
    const ages = STEPS.flatMap((_, i) => seen.map((__, t) => FIRST + t - i).filter((steps) => steps > 0)).sort(
      (a, b) => a - b,
    );
    const truth = (ages[ages.length >> 1] ?? 0) * 5 * MS;
    const age = figure(known, "age_at_read_p50_ns");
    expect(age).toMatchObject({ status: "bound", value: null, hi: null, n_censored: 1 });
    expect(age.why).toContain("in the cache before the first step");
    expect(age.lo ?? Number.POSITIVE_INFINITY).toBeLessThan(truth);
    // Without them the younger rows alone would be taken for all.
    const without = figure(written, "age_at_read_p50_ns");
    expect(without.status).toBe("ok");
    expect(without.hi ?? 0).toBeLessThan(truth);
  });
});

describe("KV rows of so few sequences", () => {
  /** Rows of `n` sequences by turns; only what is evicted has an end. */
  const rows = (n: number, evicted: boolean): KvRowSample[] =>
    STEPS.map((step, i) => ({
      write_ns: step.begin_ns + MS,
      is_written: true,
      last_read_ns: 999 * MS,
      evict_ns: evicted ? 1000 * MS : Number.NaN,
      total_reads: 179 - i,
      size_bytes: 1024,
      filling: i % n,
      writes: "once" as const,
    }));
  const figures = (n: number, evicted: boolean) => computeMetrics(input({ steps: STEPS, kvRows: rows(n, evicted) }));

  test("that no interval can be told, however many rows there are: the reason says how many", () => {
    for (const metric of ["retention_p50_ns", "retention_p99_ns", "age_at_read_p50_ns", "reads_per_write"]) {
      const row = one(figures(5, true), metric, "all", "step");
      expect([row.status, row.n, row.lo, row.hi]).toEqual(["insufficient", 5, null, null]);
      expect(row.why).toContain("5 sequences, fewer than 6");
    }
    expect(one(figures(6, true), "reads_per_write", "all", "step").status).toBe("bound");
    expect(one(figures(5, true), "needs_per_write", "all", "step").value ?? 0).toBeCloseTo(89.5, 6);
  });

  test("that what was seen of one without an end is a bound from below", () => {
    const row = one(figures(1, false), "retention_p50_ns", "all", "step");
    expect(row).toMatchObject({ status: "bound", value: null, hi: null, n: 1, ci_level: null });
    expect(Math.abs((row.lo ?? 0) / (450 * MS) - 1)).toBeLessThan(0.02);
    expect(row.why).toBe("1 sequence, fewer than 6, and rows still in the cache at the end: so long at least");
  });

  test("have no upper end far out, where the longest may not have come yet", () => {
    const p99 = one(figures(7, true), "retention_p99_ns", "all", "step");
    expect(p99).toMatchObject({ status: "bound", value: null, hi: null });
    expect(p99.why).toBe("7 sequences: an upper end this far out needs 3000");
  });
});

test("lives of KV rows that the engine does not tell are not identifiable, and no verdict rests on their absence", () => {
  const kvUntold = "the engine does not tell the sequences of a batch";
  const watches = Array.from({ length: 40 }, () => watch([], { region_type: "kv_cache" }));
  const rows = computeMetrics(input({ steps: STEPS, kvUntold, watches, regions: CACHE }));
  for (const metric of ["retention_p50_ns", "age_at_read_p50_ns", "needs_per_write", "reads_per_write"]) {
    expect(one(rows, metric, "all", "step")).toMatchObject({ status: "not_identifiable", why: kvUntold });
  }
  expect(one(rows, "read_bytes_per_s", "decode", "step").status).toBe("not_identifiable");
  expect(rows.find(({ metric }) => metric === "suitability")).toMatchObject({ label: "insufficient" });
});

import { describe, expect, test } from "bun:test";
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import type { AllocationSample, KvRowSample, StepSample, WatchSample } from "../../../../src/analyse/input/input.ts";
import { metricsPage } from "../../../../src/analyse/metrics/metrics-page.ts";
import { computeMetrics, METRICS, printedFigures } from "../../../../src/analyse/metrics/registry.ts";
import { columnsOf } from "../../../../src/schema/columns.ts";
import { ledgerRow } from "../../../fixtures/ledger.ts";
import { type GivenInput, input, MS, region, watch } from "../sample-input.ts";

const STEPS: StepSample[] = Array.from({ length: 180 }, (_, i) => ({
  step: "decode",
  begin_ns: (100 + 5 * i) * MS,
  end_ns: (104.5 + 5 * i) * MS,
  n_tokens: 1,
}));

/** Watches of one read per 5 ms token. */
function readers(count: number, over: Partial<WatchSample> = {}): WatchSample[] {
  return Array.from({ length: count }, (_, i) => {
    const begin = (105 + 14 * i + ((3 * i) % 5)) * MS;
    const first = Math.ceil(begin / (5 * MS)) * 5 * MS + 1 * MS;
    const hits = Array.from({ length: 8 }, (_, k) => [first + 5 * k * MS, "load"] as const);
    return watch(hits, {
      begin_ns: begin,
      end_ns: first + 35 * MS,
      ended_by: "trap_limit",
      region_type: "weight",
      mapping_kind: "file",
      ...over,
    });
  });
}

function one(rows: readonly MetricRow[], metric: string, step = "all", source = "watch"): MetricRow {
  const found = rows.find((r) => r.metric === metric && r.step === step && r.source === source);
  if (!found) throw new Error(`no row ${metric} ${step} ${source}`);
  return found;
}

function weights(over: GivenInput = {}): MetricRow[] {
  return computeMetrics(
    input({
      watches: readers(60),
      steps: STEPS,
      regions: [region({ region_type: "weight", mapping_kind: "file" })],
      ...over,
    }),
  );
}

describe("weights that are only read", () => {
  const rows = weights();

  test("are read once per byte and token, one token apart", () => {
    const perToken = one(rows, "reads_per_byte_per_token", "decode");
    expect(perToken.status).toBe("ok");
    expect(perToken.value ?? 0).toBeGreaterThan(0.95);
    expect(perToken.value ?? 0).toBeLessThan(1.05);
    expect(one(rows, "iai_p50_ns", "decode").value).toBe(5 * MS);
    expect(one(rows, "hits_per_pass", "decode").value).toBe(1);
  });

  test("leave room for passes unlike those that were seen, though all were alike", () => {
    const { lo, hi, n } = one(rows, "hits_per_pass", "decode");
    expect(lo).toBe(1);
    // The rule of three, at 97.5 %: none of n.
    expect(hi ?? 0).toBeCloseTo(1 + 1 - 0.025 ** (1 / n), 2);
  });

  test("have no retention, age, write-once ratio or reads per write, and say why", () => {
    for (const metric of ["retention_p50_ns", "age_at_read_p50_ns", "write_once_ratio", "reads_per_write"]) {
      const row = one(rows, metric);
      expect([metric, row.status, row.value]).toEqual([metric, "not_identifiable", null]);
      expect(row.why).toContain("no write in the run");
    }
  });

  test("have an upper bound of writes, never 0", () => {
    const row = one(rows, "writes_per_byte_per_token", "decode");
    expect(row.status).toBe("bound");
    expect(row.value).toBeNull();
    expect(row.hi ?? 0).toBeGreaterThan(0);
  });

  test("live at least as long as was seen", () => {
    const row = one(rows, "lifetime_p50_ns", "all", "region_map");
    expect([row.status, row.value, row.lo]).toEqual(["bound", null, 1000 * MS]);
    expect(one(rows, "allocated_bytes", "all", "region_map").value).toBe(8000);
  });

  test("a p99 of 60 addresses has no upper end", () => {
    const row = one(rows, "iai_p99_ns", "decode");
    expect([row.status, row.value, row.hi]).toEqual(["bound", null, null]);
    expect(row.why).toContain("299");
  });
});

describe("lives of regions of which some are alive at the end", () => {
  const dead = region({ region_type: "runtime", size_bytes: 4000, death_ns: 100 * MS, death_censored: false });
  const old = region({ region_type: "runtime", size_bytes: 4000, death_ns: 300 * MS, death_censored: false });
  const alive = region({ region_type: "runtime", size_bytes: 2000, birth_ns: 800 * MS, death_censored: true });
  const rows = computeMetrics(input({ regions: [dead, old, alive] }));
  const of = (metric: string) => rows.find((row) => row.metric === metric && row.source === "region_map");

  test("have their median between what it is if those die at once and if they never do", () => {
    expect(of("lifetime_p50_ns")).toMatchObject({ status: "ok", lo: 200 * MS, hi: 300 * MS });
  });

  test("have only a lower bound of what so many may outlive", () => {
    expect(of("lifetime_p90_ns")).toMatchObject({ status: "bound", value: null, lo: 300 * MS, hi: null });
  });
});

describe("bytes that come into being while the class is watched", () => {
  const young = region({ size_bytes: 8000, birth_ns: 500 * MS, death_censored: true });
  const silent = Array.from({ length: 60 }, (_, i) =>
    watch([], { watch_id: i, addr: BigInt(4096 + 8 * i), begin_ns: 15 * MS * i, end_ns: 15 * MS * i + 100 * MS }),
  );
  const hi = (given: Parameters<typeof input>[0]): number =>
    computeMetrics(input({ ...given, watches: silent })).find(
      (row) => row.metric === "write_bytes_per_s" && row.source === "watch",
    )?.hi ?? Number.NaN;

  test("may each have been written once before a watch could be drawn from them", () => {
    expect(hi({ regions: [region(), young] }) - hi({ regions: [region()] })).toBeCloseTo(8000, 6);
  });

  /** Each word is read every 10 ms, and written at every fifth read. */
  const busy = Array.from({ length: 120 }, (_, i) => {
    const begin_ns = 7.5 * MS * i;
    const hits = Array.from(
      { length: 10 },
      (_, k) => [begin_ns + (((3 * i) % 10) + 10 * k) * MS, k % 5 === 0 ? "load_store" : "load"] as const,
    );
    return watch(hits, { addr: BigInt(4096 + 8 * i), begin_ns, end_ns: begin_ns + 100 * MS, trap_limit: 32 });
  });
  /** Regions of 8000 bytes that follow each other, each for `life_ms`. */
  const lives = (life_ms: number) =>
    Array.from({ length: Math.floor(1000 / life_ms) }, (_, i) =>
      region({ birth_ns: i * life_ms * MS, death_ns: (i + 1) * life_ms * MS }),
    );
  const figure = (metric: string, life_ms: number, draw_lag_ns: number) =>
    one(computeMetrics(input({ regions: lives(life_ms), watches: busy, draw_lag_ns })), metric);

  test("are read in no sum while they are too young to be drawn: a share of them widens the interval upwards", () => {
    const [all, most] = [figure("read_bytes_per_s", 100, 0), figure("read_bytes_per_s", 100, MS)];
    expect([all.status, most.status]).toEqual(["ok", "ok"]);
    expect((most.hi ?? 0) / (all.hi ?? 1)).toBeCloseTo(1.02, 3);
    expect(most.lo).toBe(all.lo as number);
  });

  test("that live so shortly that more than 5 % of their time is over by then leave a lower bound", () => {
    const row = figure("read_bytes_per_s", 100, 10 * MS);
    expect([row.status, row.value, row.hi]).toEqual(["bound", null, null]);
    expect(row.why).toContain("10 % of its time is over before it can be drawn");
  });

  test("have a first write that no watch sees: reads per write may be lower by its share, and above 5 % that is no value", () => {
    expect(figure("reads_per_write", 1000, 0)).toMatchObject({ status: "ok", why: null });
    const { status, value, lo, hi, why } = figure("reads_per_write", 50, 0);
    expect([status, value]).toEqual(["bound", null]);
    // 20 writes of each byte in a second are seen, and nearly 20 are not.
    expect(lo ?? 9).toBeWithin(2, 2.7);
    expect(hi ?? 0).toBeGreaterThanOrEqual(5);
    expect(why).toContain("which no watch can see");
    expect(figure("retention_p50_ns", 50, 0)).toMatchObject({ status: "insufficient", value: null });
  });

  test("and come within the window of a working set are at most in it", () => {
    const row = figure("working_set_bytes", 50, 0);
    // Two regions of 8000 bytes come within the 100 ms, beside the one that was there.
    expect([row.status, row.value]).toEqual(["bound", null]);
    expect(row.hi ?? 0).toBeGreaterThanOrEqual(3 * 8000 * 0.95);
  });
});

describe("what is held back", () => {
  test("fewer than 30 addresses are insufficient", () => {
    const row = one(weights({ watches: readers(20) }), "iai_p50_ns", "decode");
    expect([row.status, row.value, row.lo, row.hi]).toEqual(["insufficient", null, null, null]);
    expect(row.why).toContain("30");
  });

  test("a class without a watch says so instead of 0", () => {
    const row = one(weights({ watches: [] }), "read_bytes_per_s");
    expect([row.status, row.value, row.n]).toEqual(["insufficient", null, 0]);
  });

  test("loss above 1 % takes the value away and is printed", () => {
    const ledger = [
      ledgerRow({ stream: "access", source: "watch", stage: "decode" }, 100, 3),
      ledgerRow({ stream: "access", source: "clock", stage: "decode" }, 900, 0),
    ];
    const row = one(weights({ ledger }), "iai_p50_ns", "decode");
    expect([row.status, row.value, row.lost_pct]).toEqual(["insufficient", null, 3]);
  });

  test("intervals longer than the watch are bounds from below", () => {
    const watches = Array.from({ length: 40 }, () => watch([[40 * MS, "load"]]));
    const row = one(computeMetrics(input({ watches })), "iai_p50_ns");
    expect([row.status, row.value, row.lo, row.hi]).toEqual(["bound", null, 60 * MS, null]);
  });

  test("passes that may have read or written give bounds", () => {
    const watches = Array.from({ length: 40 }, () =>
      watch([
        [40 * MS, "load"],
        [60 * MS, "unknown"],
      ]),
    );
    const row = one(computeMetrics(input({ watches })), "read_bytes_per_s");
    expect([row.status, row.value]).toEqual(["bound", null]);
    expect(row.hi ?? 0).toBeGreaterThanOrEqual(2 * (row.lo ?? Number.NaN));
  });
});

test("where a burst ends every watch of some words at once, the rate is a lower bound: nothing is filled in", () => {
  const watches = Array.from({ length: 80 }, (_, i) => {
    const begin_ns = (10 * i + ((7 * i) % 10)) * MS;
    const end_ns = begin_ns + 100 * MS;
    if (i % 4 !== 0) {
      const slow = Array.from({ length: 8 }, (_, k) => [begin_ns + ((3 * i) % 10) * MS + 10 * k * MS, "load"] as const);
      return watch(slow, { begin_ns, end_ns: slow[7]?.[0] ?? end_ns, ended_by: "trap_limit" });
    }
    const first = begin_ns + (1 + (i % 16)) * MS;
    const burst = Array.from({ length: 8 }, (_, k) => [first + 100_000 * k, "load"] as const);
    return watch(burst, { begin_ns, end_ns: first + 700_000, ended_by: "trap_limit" });
  });
  const row = one(computeMetrics(input({ watches, window_ns: 1000 * MS })), "read_bytes_per_s");
  expect([row.status, row.value, row.hi]).toEqual(["bound", null, null]);
});

/** The cache of the rows below: 1 KiB for each of 180 tokens. */
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

test("the printed figure is the first source that says something, each grain its own", () => {
  const steps = STEPS.map((step) => ({ ...step, step: "prefill" as const })).slice(0, 20);
  const kvRows = steps.map((step) => ({
    write_ns: step.begin_ns,
    is_written: true,
    last_read_ns: Number.NaN,
    evict_ns: Number.NaN,
    total_reads: 0,
    size_bytes: 64,
    filling: 0,
    writes: "once" as const,
  }));
  const watches = Array.from({ length: 40 }, (_, i) =>
    watch([[(105 + i) * MS, "store"]], { begin_ns: (100 + i) * MS, end_ns: (110 + i) * MS, region_type: "kv_cache" }),
  );
  const rows = computeMetrics(input({ steps, kvRows, watches })).filter(
    (r) => r.metric === "write_bytes_per_s" && r.step === "prefill",
  );
  expect(rows.map((r) => [r.source, r.status])).toEqual([
    ["step", "insufficient"],
    ["watch", "ok"],
  ]);
  expect(printedFigures(rows).map((r) => r.source)).toEqual(["watch"]);
});

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
const OF_ALLOCATIONS = ["allocated_total_bytes", "allocations_total"];

describe("rows", () => {
  const rows = weights();

  test("have the columns of the table, in its order", () => {
    expect(Object.keys(rows[0] ?? {})).toEqual(columnsOf("metrics").map((c) => c.name));
  });

  test("cover every metric of the registry that a watch or the map tells", () => {
    const told = new Set(rows.map((r) => r.metric));
    const otherSources = ["loads_per_s", "stores_per_s", "iai_mean_ns", "loads_per_store"];
    otherSources.push(
      ...OF_ALLOCATIONS,
      "reuse_time_p50_ns",
      "reuse_time_p90_ns",
      "reuse_time_p99_ns",
      "reuse_time_mean_ns",
      "needs_per_write",
    );
    for (const { metrics } of METRICS) {
      for (const { name } of metrics) expect(told.has(name) || otherSources.includes(name)).toBe(true);
    }
  });

  test("are the same for the same seed", () => {
    expect(weights()).toEqual(rows);
  });

  test("processes without an engine are told by mapping kind", () => {
    const watches = ["heap", "anon"].flatMap((kind) =>
      readers(30, { region_type: "unknown", mapping_kind: kind, stratum: kind }),
    );
    const kinds = computeMetrics(input({ watches })).filter((r) => r.metric === "iai_p50_ns");
    expect(kinds.map((r) => [r.region_type, r.mapping_kind, r.phase, r.status])).toEqual([
      ["unknown", "anon", "all", "ok"],
      ["unknown", "heap", "all", "ok"],
    ]);
  });
});

test("the page names every metric with its unit", () => {
  const page = metricsPage();
  for (const { metrics } of METRICS)
    for (const { name, unit } of metrics) expect(page).toContain(`| ${name} | ${unit} |`);
});

describe("a run whose collectors cannot tell", () => {
  const blind = { collector: "process", identifies: [], blind_to: "it reads /proc" };

  test("says of every metric that it is not identifiable, and why", () => {
    const rows = computeMetrics(input({ sight: [blind] }));
    const names = new Set(rows.map(({ metric }) => metric));
    const silent = METRICS.flatMap(({ metrics }) => metrics).filter(({ name }) => !names.has(name));
    expect(silent.map(({ name }) => name)).toEqual(OF_ALLOCATIONS);
    for (const row of rows.filter(({ scope }) => scope === "class")) {
      expect(row).toMatchObject({ status: "not_identifiable", source: "process", why: "it reads /proc", value: null });
    }
    const unread = rows.filter(({ scope, source }) => scope === "process" && source === "process");
    expect(unread.length).toBeGreaterThan(0);
    for (const row of unread) {
      expect(row).toMatchObject({ status: "not_identifiable", region_type: "all", value: null });
      expect(row.why).toBe("nobody read /proc of the traced process");
    }
  });

  test("blames the collector that was asked for, not the one that runs beside it", () => {
    const asked = { collector: "memray", identifies: ["region_map"], blind_to: "it sees no access" };
    const rows = computeMetrics(input({ sight: [asked, blind] }));
    const iai = rows.find(({ metric }) => metric === "iai_p50_ns");
    expect(iai).toMatchObject({ status: "not_identifiable", source: "memray", why: "it sees no access" });
    expect(rows.filter(({ scope, source }) => scope === "class" && source === "process")).toEqual([]);
  });

  test("lets a collector speak that feeds the metric", () => {
    const able = { collector: "ebpf", identifies: ["watch", "step", "region_map"], blind_to: "no PMU" };
    const rows = computeMetrics(input({ sight: [able, blind] }));
    expect(rows.filter(({ source }) => source === "ebpf").map(({ metric }) => metric)).toEqual([
      "reuse_time_p50_ns",
      "reuse_time_p90_ns",
      "reuse_time_p99_ns",
      "reuse_time_mean_ns",
      "loads_per_s",
      "stores_per_s",
      "iai_mean_ns",
      "loads_per_store",
      "same_page_fraction",
      "median_stride_bytes",
    ]);
  });
});

describe("a run that recorded allocations", () => {
  const one = (value: number) => Float64Array.from([value]);
  const all: AllocationSample = {
    mapping_kind: "allocation",
    is_part: false,
    lives: {
      n: one(9),
      bytes: one(90),
      middle_ns: one(50),
      least_ns: one(40),
      most_ns: one(60),
      ended: Uint8Array.from([1]),
    },
    processes: 1,
    allocations: 9,
    allocated_bytes: 90,
    highest_peak_bytes: 30,
    peaks_bytes: 30,
    is_cut: false,
  };
  const memray = { collector: "memray", identifies: ["allocation"], blind_to: "never a read or a write" };
  const ebpf = { collector: "ebpf", identifies: ["watch", "region_map", "step"], blind_to: "it has no PMU" };
  const allocations = [all, { ...all, mapping_kind: "allocation/malloc", is_part: true }];
  const ofKind = (rows: ReturnType<typeof computeMetrics>, kind: string) =>
    rows.filter((row) => row.mapping_kind === kind);

  test("has figures of them, and says of everything else that it cannot be told", () => {
    const rows = computeMetrics(input({ sight: [memray], allocations }));
    const whole = ofKind(rows, "allocation");
    expect(whole.filter(({ status }) => status === "ok").map(({ metric, value }) => [metric, value])).toEqual([
      ["allocated_bytes", 30],
      ["allocated_total_bytes", 90],
      ["allocations_total", 9],
      ["lifetime_p50_ns", 50],
      ["lifetime_p90_ns", 50],
      ["lifetime_p99_ns", 50],
    ]);
    const others = whole.filter(({ status }) => status !== "ok");
    expect(others.every(({ status, why }) => status === "not_identifiable" && why === memray.blind_to)).toBe(true);
    expect(ofKind(rows, "allocation/malloc").map(({ status }) => status)).toEqual(new Array(6).fill("ok"));
    expect(rows.filter(({ scope }) => scope === "class").length).toBe(whole.length + 6);
  });

  test("tells them apart from the regions of the same run, whose collector it does not speak for", () => {
    const regions = [region({ region_type: "runtime", death_censored: false })];
    const rows = computeMetrics(input({ sight: [ebpf, memray], allocations, regions }));
    const runtime = rows.filter(({ region_type, mapping_kind }) => region_type === "runtime" && mapping_kind === null);
    expect(runtime.find(({ metric }) => metric === "allocated_bytes")).toMatchObject({
      source: "region_map",
      value: 8000,
    });
    expect(runtime.some(({ source }) => source === "allocation")).toBe(false);
    expect(ofKind(rows, "allocation").some(({ source }) => source === "ebpf" || source === "watch")).toBe(false);
  });

  test("holds back what lost more than a hundredth of its allocations", () => {
    const ledger = [ledgerRow({ stream: "allocation", source: "allocation", stage: "decode" }, 100, 10)];
    const rows = ofKind(computeMetrics(input({ sight: [memray], allocations, ledger })), "allocation/malloc");
    expect(rows.every(({ status, value }) => status === "insufficient" && value === null)).toBe(true);
  });
});

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { estimate } from "../../../src/analyse/estimate.ts";
import type { MetricRow } from "../../../src/analyse/figures/metric-row.ts";
import {
  type AccessSums,
  GRAINS,
  type KvRowSample,
  PAGE_GRAINS,
  type StepSample,
  type WatchSample,
} from "../../../src/analyse/input/input.ts";
import { mergePasses } from "../../../src/analyse/watched/passes.ts";
import { type RowOf, wordsOf } from "../../../src/schema/row.ts";
import { resample } from "../../../src/statistics/bootstrap.ts";
import { chao1 } from "../../../src/statistics/chao1.ts";
import { clopperPearson } from "../../../src/statistics/clopper-pearson.ts";
import { incompleteBeta } from "../../../src/statistics/incomplete-beta.ts";
import { boundedQuantiles, recurrentSample, survivalAt } from "../../../src/statistics/survival/recurrent-survival.ts";
import { type GivenRegion, regionsOf } from "../../fixtures/regions.ts";

const RUN_NS = 1e9;
const regionType = fc.constantFrom("weight", "kv_cache", "activation", "runtime", "unknown" as const);
const kind = fc.constantFrom("heap", "anon", "file", null);

const watches: fc.Arbitrary<WatchSample> = fc
  .record({
    region_type: regionType,
    mapping_kind: kind,
    mode: fc.constantFrom("rw", "pair", "w" as const),
    design: fc.constantFrom("short", "long", "ahead", "cohort" as const),
    stratum: fc.constantFrom("a", "b"),
    ended_by: fc.constantFrom(...wordsOf("watch", "ended_by")),
    begin: fc.integer({ min: 0, max: RUN_NS - 1 }),
    length: fc.integer({ min: 0, max: 2e8 }),
    word: fc.integer({ min: 0, max: 100 }),
    probability: fc.constantFrom(0.001, 0.5, 1, 0, Number.NaN),
    hits: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 0, max: 3 })), {
      maxLength: 9,
    }),
    death: fc.option(fc.integer({ min: 0, max: RUN_NS })),
  })
  .map((w): WatchSample => {
    const hits = w.hits.map(([at, op]) => [w.begin + at * w.length, op] as const).sort((a, b) => a[0] - b[0]);
    return {
      watch_id: 1,
      pid: 1,
      addr: BigInt(8 * w.word),
      size_bytes: 8,
      mode: w.mode,
      design: w.design,
      stratum: w.stratum,
      region_type: w.region_type,
      mapping_kind: w.mapping_kind,
      tensor: null,
      stratum_bytes: 8000,
      inclusion_probability: w.probability,
      draw_weight: 1,
      begin_ns: w.begin,
      end_ns: w.begin + w.length,
      ended_by: w.ended_by,
      trap_limit: 8,
      dwell_limit_ns: 60e6,
      hit_ns: Float64Array.from(hits, ([time]) => time),
      hit_op: Uint8Array.from(hits, ([, op]) => op),
      region_death_ns: w.death,
      region_birth_ns: 0,
    };
  });

const regions: fc.Arbitrary<GivenRegion> = fc
  .record({
    region_type: regionType,
    mapping_kind: kind,
    birth_ns: fc.integer({ min: 0, max: RUN_NS }),
    death_ns: fc.integer({ min: 0, max: RUN_NS }),
    size_bytes: fc.integer({ min: 0, max: 1e6 }),
    birth_censored: fc.boolean(),
    death_censored: fc.boolean(),
  })
  .map((r) => ({ ...r, pid: 1, addr: 0n }));

const steps: fc.Arbitrary<StepSample[]> = fc.array(
  fc
    .record({
      step: fc.constantFrom("prefill", "decode" as const),
      begin_ns: fc.integer({ min: 0, max: RUN_NS }),
      length: fc.integer({ min: 0, max: 1e7 }),
      n_tokens: fc.integer({ min: 0, max: 64 }),
    })
    .map((s) => ({ step: s.step, begin_ns: s.begin_ns, end_ns: s.begin_ns + s.length, n_tokens: s.n_tokens })),
  { maxLength: 40 },
);

const time = fc.oneof(fc.constant(Number.NaN), fc.integer({ min: 0, max: RUN_NS }));
const kvRows: fc.Arbitrary<KvRowSample[]> = fc.array(
  fc.record({
    write_ns: fc.integer({ min: 0, max: RUN_NS }),
    is_written: fc.boolean(),
    last_read_ns: time,
    evict_ns: time,
    total_reads: fc.integer({ min: 0, max: 100 }),
    size_bytes: fc.integer({ min: 0, max: 4096 }),
    filling: fc.integer({ min: 0, max: 20 }),
    writes: fc.constantFrom("once", "more", "perhaps_more"),
  }),
  { maxLength: 50 },
);

const runs = fc.record({
  blocks: fc.nat(300),
  runs: fc.nat(1000),
  samples: fc.nat(20_000),
  runs_of_1: fc.nat(300),
  runs_of_2: fc.nat(300),
});

const sums: fc.Arbitrary<AccessSums> = fc
  .record({
    region_type: regionType,
    mapping_kind: kind,
    step: fc.constantFrom("prefill", "decode", "none" as const),
    source: fc.constantFrom("pebs", "clock", "import"),
    period_known: fc.boolean(),
    blocks: fc.array(fc.tuple(fc.nat(1000), fc.nat(1000)), { maxLength: 40 }),
    rows: fc.nat(10_000),
    load_rows: fc.nat(10_000),
    store_rows: fc.nat(10_000),
    seen: fc.array(
      fc.record({
        grain_bytes: fc.constantFrom(...GRAINS),
        distinct: fc.nat(1000),
        once: fc.nat(500),
        twice: fc.nat(100),
      }),
      { maxLength: 4 },
    ),
    written: fc.array(
      fc.record({ grain_bytes: fc.constantFrom(...PAGE_GRAINS), once: runs, rewritten: runs, open: runs }),
      { maxLength: 3 },
    ),
  })
  .map(({ blocks, ...rest }) => ({
    ...rest,
    loads: Float64Array.from(blocks, ([l]) => l),
    stores: Float64Array.from(blocks, ([, s]) => s),
    ...(rest.step === "none" ? { block_ns: 1e8, blocks_from_ns: 0 } : {}),
  }));

function estimatesOf(
  seed: number,
  w: WatchSample[],
  r: GivenRegion[],
  s: StepSample[],
  k: KvRowSample[],
  a: AccessSums[],
) {
  return estimate(
    {
      run_id: "r",
      t0_ns: 0n,
      window_ns: RUN_NS,
      watches: w,
      regions: regionsOf(r),
      steps: s,
      kvRows: k,
      kvUntold: null,
      kvWritesUntold: null,
      accessSums: a,
      allocations: [],
      streams: [],
      counts: null,
      ledger: [],
      trap_cost_ns: 16_000,
      seed,
      sight: [],
    },
    null,
  );
}

const metricsOf = (...given: Parameters<typeof estimatesOf>) => estimatesOf(...given).metrics;

function isDrawable(row: RowOf<"curves">): void {
  const { x, x_end, y, ci_low, ci_high } = row;
  for (const value of [x, x_end, y, ci_low, ci_high]) expect(value === null || Number.isFinite(value)).toBe(true);
  if (x === null) expect([y, ci_low, ci_high, row.n]).toEqual([null, null, null, 0n]);
  if (x === null || row.status !== "ok") expect(row.why ?? "").not.toBe("");
  if (x !== null) expect(["ok", "bound"]).toContain(row.status);
  expect(y ?? 0).toBeGreaterThanOrEqual(0);
  if (row.y_unit === "ratio") expect(Math.max(y ?? 0, ci_high ?? 0)).toBeLessThanOrEqual(1 + 1e-9);
  const middle = y ?? ci_low ?? ci_high ?? 0;
  expect(ci_low ?? 0).toBeLessThanOrEqual(middle + 1e-9 * Math.abs(middle) + 1e-12);
  expect(ci_high ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(middle - 1e-9 * Math.abs(middle) - 1e-12);
  expect(x_end ?? Number.POSITIVE_INFINITY).toBeGreaterThan(x ?? 0);
}

function isSound(row: MetricRow): void {
  const numbers = [
    row.value,
    row.lo,
    row.hi,
    row.ci_level,
    row.n,
    row.n_censored,
    row.coverage,
    row.window_ns,
    row.lost_pct,
  ];
  for (const x of numbers) expect(x === null || Number.isFinite(x)).toBe(true);
  expect(row.method.length).toBeGreaterThan(0);
  expect(row.n).toBeGreaterThanOrEqual(0);
  expect(row.coverage === null || (row.coverage >= 0 && row.coverage <= 1 + 1e-9)).toBe(true);
  if (row.value !== null) {
    expect(row.n).toBeGreaterThan(0);
    expect(row.status).toBe("ok");
    if (row.lo !== null) expect(row.lo).toBeLessThanOrEqual(row.value);
    if (row.hi !== null) expect(row.hi).toBeGreaterThanOrEqual(row.value);
  } else if (row.metric === "suitability" && row.status === "ok") {
    // Its answer is a word.
    expect(["high_mrm", "medium_mrm", "low_mrm", "kept_throughout"]).toContain(String(row.label));
  } else {
    expect(row.status).not.toBe("ok");
    expect(row.why?.length ?? 0).toBeGreaterThan(0);
  }
  if (row.status === "insufficient" || row.status === "not_identifiable")
    expect([row.lo, row.hi]).toEqual([null, null]);
  if (row.status === "bound") expect(row.lo !== null || row.hi !== null).toBe(true);
}

describe("figures and curves", () => {
  test("are sound for any input: no NaN, no value without n and method, intervals around their values", () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.array(watches, { maxLength: 120, size: "max" }),
        fc.array(regions, { maxLength: 6 }),
        steps,
        kvRows,
        fc.array(sums, { maxLength: 4 }),
        (seed, w, r, s, k, a) => {
          const { metrics, curves } = estimatesOf(seed, w, r, s, k, a);
          for (const row of metrics) isSound(row);
          for (const row of curves) isDrawable(row);
        },
      ),
      { numRuns: 40, seed: 7 },
    );
  });

  test("gives quantiles that rise", () => {
    fc.assert(
      fc.property(fc.nat(), fc.array(watches, { minLength: 100, maxLength: 200, size: "max" }), (seed, w) => {
        const rows = metricsOf(seed, w, [], [], [], []);
        for (const family of ["iai", "retention", "age_at_read"]) {
          const last = new Map<string, number>();
          for (const row of rows) {
            if (!row.metric.startsWith(`${family}_p`) || row.value === null) continue;
            const key = `${row.region_type}/${row.mapping_kind}/${row.source}`;
            expect(row.value).toBeGreaterThanOrEqual(last.get(key) ?? 0);
            last.set(key, row.value);
          }
        }
      }),
      { numRuns: 20, seed: 8 },
    );
  });
});

describe("estimators", () => {
  test("the exact interval encloses the share and narrows with n", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), fc.double({ min: 0, max: 1, noNaN: true }), (n, share) => {
        const k = Math.round(share * n);
        const a = clopperPearson(k, n);
        const b = clopperPearson(4 * k, 4 * n);
        expect(a.lo ?? 2).toBeLessThanOrEqual(k / n);
        expect(a.hi ?? -1).toBeGreaterThanOrEqual(k / n);
        expect((b.hi ?? 9) - (b.lo ?? 0)).toBeLessThan((a.hi ?? 0) - (a.lo ?? 0));
        // Its definition: each end leaves 2.5 % in the tail of the binomial distribution.
        if (k > 0) expect(incompleteBeta(k, n - k + 1, a.lo ?? 0)).toBeCloseTo(0.025, 8);
        if (k < n) expect(incompleteBeta(k + 1, n - k, a.hi ?? 0)).toBeCloseTo(0.975, 8);
      }),
      { seed: 9 },
    );
  });

  test("the product-limit curve falls from 1, and its quantiles rise inside their intervals", () => {
    const times = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 4 });
    fc.assert(
      fc.property(fc.array(fc.record({ complete: times, censored: times }), { maxLength: 40 }), (units) => {
        const weights = units.map((_, i) => 1 + (i % 3));
        const sample = recurrentSample(units, weights);
        const estimates = boundedQuantiles(sample, [0.5, 0.9], resample(weights, 5));
        let before = 1;
        for (let at = 0; at <= 50 && sample.n > 0; at++) {
          const s = survivalAt(sample, at);
          expect(s).toBeLessThanOrEqual(before);
          expect(s).toBeGreaterThanOrEqual(0);
          before = s;
        }
        const [median, late] = estimates;
        if (median?.value != null && late?.value != null) expect(late.value).toBeGreaterThanOrEqual(median.value);
        for (const { value, lo, hi } of estimates) {
          if (value !== null && lo !== null) expect(lo).toBeLessThanOrEqual(value);
          if (value !== null && hi !== null) expect(hi).toBeGreaterThanOrEqual(value);
        }
      }),
      { seed: 10 },
    );
  });

  test("Chao1 never falls below what was seen", () => {
    fc.assert(
      fc.property(fc.nat(1000), fc.nat(500), fc.nat(500), fc.nat(10_000), (distinct, once, twice, n) => {
        const found = chao1(distinct, once, twice, n);
        if (found.value === null) return;
        expect(found.lo ?? -1).toBeGreaterThanOrEqual(distinct);
        expect(found.value).toBeGreaterThanOrEqual(found.lo ?? 0);
        expect(found.hi ?? 0).toBeGreaterThanOrEqual(found.value);
      }),
      { seed: 11 },
    );
  });

  test("passes keep every hit and stand at least the gap apart", () => {
    const hits = fc.array(fc.tuple(fc.integer({ min: 0, max: 1e6 }), fc.integer({ min: 0, max: 3 })), {
      maxLength: 50,
    });
    fc.assert(
      fc.property(hits, fc.integer({ min: 1, max: 1e5 }), (rows, gap) => {
        rows.sort((a, b) => a[0] - b[0]);
        const passes = mergePasses(
          Float64Array.from(rows, ([t]) => t),
          Uint8Array.from(rows, ([, op]) => op),
          gap,
        );
        expect(passes.hits.reduce((a, b) => a + b, 0)).toBe(rows.length);
        for (let i = 1; i < passes.count; i++) {
          expect((passes.start_ns[i] ?? 0) - (passes.end_ns[i - 1] ?? 0)).toBeGreaterThanOrEqual(gap);
        }
      }),
      { seed: 12 },
    );
  });
});

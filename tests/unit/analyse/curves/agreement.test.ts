import { beforeAll, describe, expect, test } from "bun:test";
import { type RegionFigures, regionFigures } from "../../../../src/analyse/by-region/region-figures.ts";
import { type Estimates, estimate } from "../../../../src/analyse/estimate.ts";
import type { KvRowSample, StepSample } from "../../../../src/analyse/input/input.ts";
import { printedFigures } from "../../../../src/analyse/metrics/registry.ts";
import { meanTrapNs, trapDelay } from "../../../../src/analyse/watched/trap-delay.ts";
import { worldSchema } from "../../../../src/config/world-schema.ts";
import { placeIndex } from "../../../../src/label/regions/place-index.ts";
import type { RowOf } from "../../../../src/schema/row.ts";
import { describedWorld } from "../../../../src/simulate/described-world.ts";
import { tryWorld } from "../../../../src/simulate/trial.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { input, MS, region } from "../sample-input.ts";

/** Of the four touches of a turn three stand still for a trap before the last one. */
const MOST_TRAPS_NS = trapDelay(3, meanTrapNs(null));

type Row = RowOf<"curves">;

/** The points of a curve of a class. */
function pointsOf({ curves }: Estimates, curve: Row["curve"], region_type: Row["region_type"]): Row[] {
  return curves.filter((row) => row.curve === curve && row.region_type === region_type);
}

/** The share up to a point, however the curve is drawn. */
const shareOf = ({ shape, y }: Row): number => (shape === "survival" ? 1 - (y ?? Number.NaN) : (y ?? Number.NaN));

/** The first x up to which a share q lies; null where the curve does not go so far. */
const readOff = (points: readonly Row[], q: number): number | null =>
  points.find((point) => shareOf(point) >= q - 1e-9)?.x ?? null;

/** The x from which on, and that up to which, q may be the share: where the band crosses it. */
function crossings(points: readonly Row[], q: number): [lo: number | null, hi: number | null] {
  const ends = points.map(({ shape, ci_low, ci_high, x }) =>
    shape === "survival"
      ? { x, least: ci_high === null ? 0 : 1 - ci_high, most: ci_low === null ? 1 : 1 - ci_low }
      : { x, least: ci_low ?? 0, most: ci_high ?? 1 },
  );
  return [ends.find(({ most }) => most >= q)?.x ?? null, ends.find(({ least }) => least >= q)?.x ?? null];
}

const FIGURES = [
  ["retention", "retention_p50_ns", 0.5],
  ["retention", "retention_p90_ns", 0.9],
  ["inter_access_interval", "iai_p50_ns", 0.5],
  ["inter_access_interval", "iai_p90_ns", 0.9],
  ["age_at_read", "age_at_read_p50_ns", 0.5],
] as const;

describe("curves of a class that was watched", () => {
  let found: Estimates;
  let whole: RegionFigures | undefined;

  beforeAll(() => {
    const world = worldSchema.parse({
      run: "20s",
      strata: [
        { class: "activation", bytes: "1MiB", period: "20ms", touches: 4, writes: 0.25, spacing: "2ms", sigma: 0.5 },
      ],
    });
    const { input: seen } = tryWorld(describedWorld(world).make(seededRandom(7)), 7);
    found = estimate(seen, placeIndex(seen.regions));
    [whole] = regionFigures(seen, placeIndex(seen.regions));
  });
  const figure = (metric: string) =>
    printedFigures(found.metrics).find((row) => row.metric === metric && row.region_type === "activation");

  test.each(FIGURES)("%s has at the value of %s the share %d", (curve, metric, q) => {
    const row = figure(metric);
    expect(row?.status).toBe("ok");
    expect(readOff(pointsOf(found, curve, "activation"), q)).toBe(row?.value ?? Number.NaN);
  });

  test.each(FIGURES)("%s has a band that crosses its level where the interval of %s ends", (curve, metric, q) => {
    const points = pointsOf(found, curve, "activation");
    const { lo, hi } = figure(metric) ?? {};
    const [from, end] = crossings(points, q);
    // Points stand for the values between them: one to either side.
    const near = (x: number | null): [number, number] => {
      const i = points.findIndex((point) => point.x === x);
      return [points[Math.max(0, i - 2)]?.x ?? 0, points[Math.min(points.length - 1, i + 2)]?.x ?? 0];
    };
    // Both have room for the traps of the times, a figure to the ns and a point at the values that were seen.
    expect(lo).toBeWithin(near(from)[0] - MOST_TRAPS_NS, near(from)[1] + 1e-3);
    expect(hi).toBeWithin(near(end)[0], near(end)[1] + 1e-3);
  });

  test("has the working set of the figure at the window of the figure", () => {
    const row = figure("working_set_bytes");
    const point = pointsOf(found, "working_set", "activation").find(({ x }) => x === row?.window_ns);
    expect([point?.y, point?.ci_low, point?.ci_high]).toEqual([row?.value, row?.lo, row?.hi]);
  });

  test.each([
    ["read_rate", "read_bytes_per_s"],
    ["write_rate", "write_bytes_per_s"],
  ] as const)("%s goes on around %s in bins that fill the run", (curve, metric) => {
    const points = pointsOf(found, curve, "activation");
    const { lo, hi } = figure(metric) ?? {};
    expect(points.length).toBeGreaterThan(1);
    points.forEach(({ x_end }, i) => {
      expect(x_end).toBeCloseTo(points[i + 1]?.x ?? (x_end as number), 3);
    });
    const mean = points.reduce((sum, { y }) => sum + (y ?? Number.NaN), 0) / points.length;
    expect(mean).toBeWithin((lo ?? 0) * 0.9, (hi ?? 0) * 1.1);
    for (const { y, ci_low, ci_high } of points) expect(y).toBeWithin(ci_low ?? 0, (ci_high ?? 0) + 1e-9);
  });

  test("says of writes how often they are read: once for each of the three reads of a period, as the ratio does", () => {
    const points = pointsOf(found, "reads_per_write", "activation");
    expect(points[0]).toMatchObject({ shape: "survival", status: "ok" });
    // The mean of a count is the sum of the shares above each number.
    const above = (k: number): number => points.findLast(({ x }) => (x as number) <= k)?.y ?? 1;
    const mean = Array.from({ length: 40 }, (_, k) => above(k)).reduce((sum, y) => sum + y, 0);
    const { lo, hi } = figure("reads_per_write") ?? {};
    expect(mean).toBeWithin((lo ?? 0) * 0.85, (hi ?? 0) * 1.15);
  });

  test("says of writes how long after the one before they come: half of them after about a period", () => {
    const points = pointsOf(found, "stores_after_settle", "activation");
    expect(points[0]).toMatchObject({ shape: "survival", status: "ok" });
    expect(readOff(points, 0.5)).toBeWithin(8 * MS, 24 * MS);
  });

  test("has the one region of the class as a point, with the figures of the class", () => {
    const [only, ...others] = found.regions;
    expect(others).toEqual([]);
    for (const metric of ["read_bytes_per_s", "retention_p50_ns", "iai_p50_ns", "working_set_bytes"]) {
      const row = only?.rows.find((one) => one.metric === metric);
      const { value = null, lo, hi } = figure(metric) ?? {};
      expect([metric, row?.status]).toEqual([metric, "ok"]);
      expect(row?.value).toBeWithin((lo ?? 0) - 1e-9, (hi ?? 0) + 1e-9);
      expect((row?.value ?? 0) / (value ?? 1)).toBeWithin(0.98, 1.02);
    }
    const [point] = pointsOf(found, "read_rate_by_lifetime", "activation");
    const rate = only?.rows.find((one) => one.metric === "read_bytes_per_s")?.value ?? Number.NaN;
    expect(point?.x).toBe(whole?.lifetime_ns ?? Number.NaN);
    expect(point?.y).toBeCloseTo(rate / (whole?.size_bytes ?? 1), 9);
    expect(point).toMatchObject({ status: "bound", n_censored: 1n });
  });

  test("has for what cannot be drawn one row without a point that says why", () => {
    const empty = found.curves.filter(({ x }) => x === null);
    expect(empty.map(({ curve }) => curve)).toContain("stride");
    for (const { why, status, y, n } of empty) {
      expect(why ?? "").not.toBe("");
      expect([y, n]).toEqual([null, 0n]);
      expect(["insufficient", "not_identifiable"]).toContain(status);
    }
  });

  test("has points in order, few, with shares that rise or fall and counts that shrink", () => {
    for (const points of Map.groupBy(found.curves, ({ curve, region_type, step }) =>
      [curve, region_type, step].join(),
    )) {
      const rows = points[1].filter(({ x }) => x !== null);
      expect(rows.length).toBeLessThanOrEqual(100);
      rows.slice(1).forEach((row, i) => {
        const before = rows[i] as Row;
        expect(row.x as number).toBeGreaterThan(before.x as number);
        if (row.shape !== "survival" && row.shape !== "distribution") return;
        expect(shareOf(row)).toBeGreaterThanOrEqual(shareOf(before));
        expect(row.n).toBeLessThanOrEqual(before.n);
      });
    }
  });
});

test("a window within which no watched word was used has a bound, and says why", () => {
  const world = worldSchema.parse({
    run: "20s",
    strata: [{ class: "activation", bytes: "1MiB", period: "2s", touches: 4, writes: 0.25, spacing: "20ms" }],
  });
  const { input: seen } = tryWorld(describedWorld(world).make(seededRandom(7)), 7);
  const points = pointsOf(estimate(seen, placeIndex(seen.regions)), "working_set", "activation");
  const without = points.filter(({ y }) => y === null);
  expect(without.length).toBeGreaterThan(0);
  for (const { status, why } of without) {
    expect(status).toBe("bound");
    expect(why).toContain("was used within the window");
  }
});

describe("curves of rows of a KV cache", () => {
  /** Sequences that come one after the other, each of 20 rows that are needed by all later steps of it. */
  function cache(sequences: number, isOpen: (sequence: number) => boolean) {
    const random = seededRandom(3);
    const kvRows: KvRowSample[] = [];
    const steps: StepSample[] = [];
    for (let filling = 0; filling < sequences; filling++) {
      const begin = filling * 100 * MS;
      const length = 20 + Math.floor(60 * random());
      for (let k = 0; k < length; k++) {
        const write_ns = begin + k * MS;
        steps.push({ step: "decode", begin_ns: write_ns, end_ns: write_ns + MS / 2, n_tokens: 1 });
        kvRows.push({
          write_ns,
          is_written: true,
          last_read_ns: begin + (length - 1) * MS,
          evict_ns: isOpen(filling) ? Number.NaN : begin + length * MS,
          total_reads: length - 1 - k,
          size_bytes: 64,
          filling,
          writes: "once",
        });
      }
    }
    return estimate(
      input({ window_ns: sequences * 100 * MS, steps, kvRows, regions: [region({ region_type: "kv_cache" })] }),
      null,
    );
  }

  test.each([
    ["retention", "retention_p50_ns", 0.5],
    ["age_at_read", "age_at_read_p50_ns", 0.5],
  ] as const)("%s by steps has at the value of %s the share %d", (curve, metric, q) => {
    const found = cache(40, () => false);
    const row = printedFigures(found.metrics).find((one) => one.metric === metric && one.region_type === "kv_cache");
    expect(row?.source).toBe("step");
    const points = pointsOf(found, curve, "kv_cache");
    expect(points[0]?.source).toBe("step");
    expect(readOff(points, q)).toBe(row?.value ?? Number.NaN);
  });

  test("are bounds without a band where the sequences are few", () => {
    const found = cache(3, (sequence) => sequence === 2);
    const points = pointsOf(found, "retention", "kv_cache");
    expect(points.length).toBeGreaterThan(3);
    expect(
      points.every(({ status, ci_low, ci_high }) => status === "bound" && ci_low === null && ci_high === null),
    ).toBe(true);
  });
});

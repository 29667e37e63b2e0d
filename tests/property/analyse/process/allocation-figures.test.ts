import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { AllocationSample } from "../../../../src/analyse/input/input.ts";
import { lifetimeFigures, peakFigure } from "../../../../src/analyse/process/allocation-figures.ts";

const QUANTILES = [
  ["lifetime_p50_ns", 0.5],
  ["lifetime_p90_ns", 0.9],
  ["lifetime_p99_ns", 0.99],
] as const;

interface Life {
  readonly least: number;
  readonly width: number;
  /** Where inside its interval the time truly was, 0 to 1. */
  readonly at: number;
  readonly bytes: number;
  readonly ended: boolean;
  /** How much longer than was seen it lived, where its end was not seen. */
  readonly beyond: number;
}

const life: fc.Arbitrary<Life> = fc.record({
  least: fc.nat(2000),
  width: fc.nat(300),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  bytes: fc.integer({ min: 1, max: 5000 }),
  ended: fc.boolean(),
  beyond: fc.nat(5000),
});

function sampleOf(lives: readonly Life[], over: Partial<AllocationSample> = {}): AllocationSample {
  const column = (of: (one: Life) => number): Float64Array => Float64Array.from(lives, of);
  return {
    mapping_kind: "allocation",
    is_part: false,
    lives: {
      n: column(() => 1),
      bytes: column(({ bytes }) => bytes),
      middle_ns: column(({ least, width }) => least + width / 2),
      least_ns: column(({ least }) => least),
      most_ns: column(({ least, width }) => least + width),
      ended: Uint8Array.from(lives, ({ ended }) => (ended ? 1 : 0)),
    },
    processes: 1,
    allocations: lives.length,
    allocated_bytes: lives.reduce((sum, { bytes }) => sum + bytes, 0),
    highest_peak_bytes: 7,
    peaks_bytes: 7,
    is_cut: false,
    ...over,
  };
}

/** The time by which a share of the bytes had ended. */
function trueQuantile(lives: readonly Life[], q: number): number {
  const times = lives
    .map(({ least, width, at, bytes, ended, beyond }) => [least + at * width + (ended ? 0 : beyond), bytes] as const)
    .sort(([a], [b]) => a - b);
  const total = times.reduce((sum, [, bytes]) => sum + bytes, 0);
  let sum = 0;
  for (const [time, bytes] of times) {
    sum += bytes;
    if (sum >= q * total * (1 - 1e-12)) return time;
  }
  return Number.NaN;
}

describe("lifetimes of allocations", () => {
  test("have intervals that hold the true quantile, whatever the times were and however long the rest lived on", () => {
    fc.assert(
      fc.property(fc.array(life, { minLength: 1, maxLength: 60 }), (lives) => {
        for (const [k, figure] of lifetimeFigures(sampleOf(lives), QUANTILES).entries()) {
          const { value, lo, hi } = figure.estimate;
          const truth = trueQuantile(lives, QUANTILES[k]?.[1] ?? 0);
          expect(lo ?? Number.NaN).toBeLessThanOrEqual(truth + 1e-9);
          if (hi !== null) expect(hi).toBeGreaterThanOrEqual(truth - 1e-9);
          if (value !== null) expect(value).toBeGreaterThanOrEqual(lo ?? Number.NaN);
          if (value !== null && hi !== null) expect(value).toBeLessThanOrEqual(hi);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("are exact where every end was seen and every time is known", () => {
    fc.assert(
      fc.property(fc.array(life, { minLength: 1, maxLength: 60 }), (lives) => {
        const known = lives.map((one) => ({ ...one, width: 0, ended: true }));
        for (const [k, { estimate }] of lifetimeFigures(sampleOf(known), QUANTILES).entries()) {
          const truth = trueQuantile(known, QUANTILES[k]?.[1] ?? 0);
          expect(estimate).toEqual({ value: truth, lo: truth, hi: truth });
        }
      }),
      { numRuns: 300 },
    );
  });

  test("that may have been no time at all are a bound, not a figure", () => {
    const [figure] = lifetimeFigures(
      sampleOf([{ least: 0, width: 11, at: 0, bytes: 1, ended: true, beyond: 0 }]),
      QUANTILES,
    );
    expect(figure).toMatchObject({ bound: true, estimate: { lo: 0, hi: 11 }, why: expect.stringContaining("10 ms") });
  });

  test("follow the product-limit curve where some were alive at the end", () => {
    const base = { width: 0, at: 0, bytes: 1, beyond: 0 };
    const lives = [
      { ...base, least: 10, ended: true },
      { ...base, least: 20, ended: false },
      { ...base, least: 30, ended: true },
      { ...base, least: 40, ended: true },
    ];
    // S is 3/4 after 10, 3/8 after 30, 0 after 40; of four bytes the second to end is known to have lived 20 to 30.
    const [median] = lifetimeFigures(sampleOf(lives), QUANTILES);
    expect(median?.estimate).toEqual({ value: 30, lo: 20, hi: 30 });
    expect(median).toMatchObject({ n: 4, n_censored: 1, censored: 0.25, census: true });
  });

  test("are not identifiable in a capture without lifetimes", () => {
    const [figure] = lifetimeFigures(sampleOf([], { allocations: null }), QUANTILES);
    expect(figure).toMatchObject({ not_identifiable: true, why: expect.stringContaining("aggregated") });
  });
});

test("the peak is exact of one process, and between the highest and the sum of several", () => {
  expect(peakFigure("allocated_bytes", sampleOf([])).estimate).toEqual({ value: 7, lo: 7, hi: 7 });
  const several = sampleOf([], { processes: 2, highest_peak_bytes: 5, peaks_bytes: 8 });
  expect(peakFigure("allocated_bytes", several).estimate).toEqual({ value: null, lo: 5, hi: 8 });
});

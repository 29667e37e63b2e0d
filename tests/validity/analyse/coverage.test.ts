/**
 * The 95 % interval must contain the truth in about 95 of 100 runs. If it does so truly, fewer than 89 of 100 happen with
 * a chance of 0.4 % (binomial); the seeds are fixed, so that the outcome is too.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { computeMetrics } from "../../../src/analyse/metrics/registry.ts";
import {
  type Design,
  type Process,
  periodicReads,
  renewalReads,
  ringRewrite,
  simulatedInput,
  simulateWatches,
  writtenOnce,
} from "../watch-simulator.ts";

setDefaultTimeout(120_000);

const RUNS = 100;
const LEAST = 89;
const MS = 1e6;
const WORDS = 100_000;
const BYTES = 8 * WORDS;

interface Outcome {
  readonly covered: number;
  readonly ratio: number;
}

function outcomes(
  processes: readonly Process[],
  design: Omit<Design, "seed">,
  truth: Record<string, number>,
): Record<string, Outcome> {
  const out: Record<string, Outcome> = {};
  for (const metric of Object.keys(truth)) out[metric] = { covered: 0, ratio: 0 };
  for (let seed = 1; seed <= RUNS; seed++) {
    const seeded = { ...design, seed };
    const watches = simulateWatches(processes, seeded);
    for (const row of computeMetrics(simulatedInput(processes, watches, seeded))) {
      const expected = truth[row.metric];
      const one = out[row.metric];
      if (expected === undefined || !one || row.source === "step") continue;
      const { lo, hi, value } = row;
      const covered = lo !== null && hi !== null && lo <= expected && expected <= hi;
      out[row.metric] = {
        covered: one.covered + (covered ? 1 : 0),
        ratio: one.ratio + (value ?? Number.NaN) / expected / RUNS,
      };
    }
  }
  return out;
}

/** Each interval covers often enough, and the mean estimate is within `bias` of the truth. */
function expectCoverage(found: Record<string, Outcome>, bias: number): void {
  for (const [metric, { covered, ratio }] of Object.entries(found)) {
    expect({ metric, covered, enough: covered >= LEAST }).toEqual({ metric, covered, enough: true });
    expect({ metric, ratio, near: Math.abs(ratio - 1) < bias }).toEqual({ metric, ratio, near: true });
  }
}

const SHORT = { run_ns: 2000 * MS, dwell_ns: 60 * MS, trap_limit: 8, slots: 4, retarget_ns: MS };

describe("the 95 % interval covers the truth in at least 89 of 100 seeded runs", () => {
  test("for bytes that each token reads in passes of two loads", () => {
    const processes: Process[] = [
      { stratum: "w", region_type: "weight", words: WORDS, accesses: periodicReads(5 * MS, 2) },
    ];
    const truth = {
      iai_p50_ns: 5 * MS,
      read_bytes_per_s: BYTES * 200,
      hits_per_pass: 2,
    };
    expectCoverage(outcomes(processes, SHORT, truth), 0.01);
  });

  test("for two strata of unlike size, one of them with periods of 4 to 12 ms", () => {
    const processes: Process[] = [
      { stratum: "a", region_type: "weight", words: WORDS, accesses: periodicReads(5 * MS) },
      { stratum: "b", region_type: "weight", words: 3 * WORDS, accesses: periodicReads(8 * MS, 1, 0.5) },
    ];
    // Mean of 1/period over periods uniform in [4, 12] ms: ln 3 / 8 ms. The quarter of the bytes in a lies below the
    // median, so the median is where b, three quarters, reaches one third: 4 + 8/3 ms.
    const truth = {
      read_bytes_per_s: BYTES * 200 + ((3 * BYTES * 1e9) / (8 * MS)) * Math.log(3),
      iai_p50_ns: (4 + 8 / 3) * MS,
    };
    expectCoverage(outcomes(processes, SHORT, truth), 0.02);
  });

  test("for intervals of two kinds, 80 % near 1 ms and 20 % near 10 ms", () => {
    const next = (random: () => number): number => MS * (random() < 0.8 ? 1 + 0.4 * random() : 8 + 4 * random());
    const mean = MS * (0.8 * 1.2 + 0.2 * 10);
    const processes: Process[] = [
      { stratum: "a", region_type: "activation", words: WORDS, accesses: renewalReads(next, mean) },
    ];
    const truth = {
      iai_p50_ns: MS * (1 + (0.4 * 0.5) / 0.8),
      iai_p90_ns: 10 * MS,
      read_bytes_per_s: (BYTES * 1e9) / mean,
    };
    expectCoverage(outcomes(processes, SHORT, truth), 0.02);
  });

  test("for a ring that is rewritten every 5 ms", () => {
    const processes: Process[] = [
      { stratum: "r", region_type: "activation", words: WORDS, accesses: ringRewrite(5 * MS, 0.3, 0.9) },
    ];
    const truth = {
      retention_p50_ns: 3 * MS,
      retention_p90_ns: 5 * MS * (0.3 + 0.6 * 0.9),
      reads_per_write: 2,
      read_bytes_per_s: BYTES * 400,
      write_bytes_per_s: BYTES * 200,
    };
    expectCoverage(outcomes(processes, SHORT, truth), 0.01);
  });

  test("for words of which half are written once and half twice", () => {
    const processes: Process[] = [{ stratum: "k", region_type: "kv_cache", words: WORDS, accesses: writtenOnce(0.5) }];
    const design = { ...SHORT, dwell_ns: 4000 * MS, slots: 120, mode: "w", design: "long" } as const;
    expectCoverage(outcomes(processes, design, { write_once_ratio: 0.5 }), 0.03);
  });

  test("for the share of words that are touched at all", () => {
    const processes: Process[] = [{ stratum: "h", region_type: "runtime", words: WORDS, accesses: sparse(0.2) }];
    const found = outcomes(processes, { ...SHORT, dwell_ns: 120 * MS }, { working_set_bytes: 0.2 * BYTES });
    expectCoverage(found, 0.05);
  });
});

/** A share of the words is read every 5 ms, the others never. */
function sparse(share: number): Process["accesses"] {
  const read = periodicReads(5 * MS);
  return (random, word, run_ns) => (random() < share ? read(random, word, run_ns) : { time_ns: [], op: [] });
}

test("a word seen written again is never counted as written once, however short the watch", () => {
  const processes: Process[] = [
    { stratum: "r", region_type: "activation", words: WORDS, accesses: ringRewrite(5 * MS, 0.3, 0.9) },
  ];
  const design = { ...SHORT, seed: 5 };
  const rows = computeMetrics(simulatedInput(processes, simulateWatches(processes, design), design));
  const row = rows.find((r) => r.metric === "write_once_ratio");
  expect(row?.status).toBe("bound");
  expect(row?.value).toBeNull();
  expect(row?.hi ?? 1).toBeLessThan(0.05);
});

import { describe, expect, test } from "bun:test";
import { compareArms } from "../../../src/overhead/ab.ts";
import { bcaOfMean } from "../../../src/statistics/block-bootstrap.ts";
import { normalQuantile } from "../../../src/statistics/normal.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";

const SERIES = 300;
const random = seededRandom(20_260);
const normal = (): number => normalQuantile(Math.min(Math.max(random(), 1e-12), 1 - 1e-12));
/** Skewed to the right with mean 0, as latencies are. */
const skewed = (): number => Math.exp(0.5 * normal()) - Math.exp(0.125);

function coverage(draw: () => number, n: number): number {
  let held = 0;
  for (let seed = 0; seed < SERIES; seed++) {
    const { lo, hi } = bcaOfMean(Array.from({ length: n }, draw), { seed });
    if (lo <= 0 && 0 <= hi) held += 1;
  }
  return held / SERIES;
}

/** Blocks of two runs per arm with noise of 1.2 % each, and drift between blocks. */
function series(slowdownPct: number, n = 12) {
  return Array.from({ length: n }, () => {
    const drift = Math.exp(0.05 * normal());
    const run = (factor: number) => factor * drift * Math.exp(0.012 * normal());
    const on = 1 + slowdownPct / 100;
    return { off: [run(1), run(1)], on: [run(on), run(on)] };
  });
}

describe("the 95 % interval of the mean over blocks, in 300 simulated series", () => {
  for (const n of [10, 20]) {
    test(`holds the true mean of ${n} normal blocks in at least 90 %, and is not all-embracing`, () => {
      const share = coverage(normal, n);
      expect(share).toBeGreaterThanOrEqual(0.9);
      expect(share).toBeLessThanOrEqual(0.99);
    });
  }

  test("holds the true mean of 20 skewed blocks in at least 90 %", () => {
    expect(coverage(skewed, 20)).toBeGreaterThanOrEqual(0.9);
  });
});

describe("the comparison of two arms, in 300 simulated series", () => {
  test("calls two equal arms different no more often than alpha and the noise of 300 draws allow", () => {
    let different = 0;
    for (let seed = 0; seed < SERIES; seed++) {
      const { slowdown_pct } = compareArms(series(0), 1, seed);
      if (slowdown_pct.lo > 0 || slowdown_pct.hi < 0) different += 1;
    }
    // 0.05 and three standard errors of a share of 0.05 in 300.
    expect(different / SERIES).toBeLessThanOrEqual(0.05 + 3 * Math.sqrt((0.05 * 0.95) / SERIES));
  });

  test("passes a target that is slowed by exactly the margin no more often than alpha and noise allow", () => {
    let passed = 0;
    for (let seed = 0; seed < SERIES; seed++) if (compareArms(series(1), 1, seed).verdict === "PASS") passed += 1;
    expect(passed / SERIES).toBeLessThanOrEqual(0.05 + 3 * Math.sqrt((0.05 * 0.95) / SERIES));
  });

  test("passes an unslowed target at the margin of 2 % nearly always with 12 blocks", () => {
    let passed = 0;
    for (let seed = 0; seed < SERIES; seed++) if (compareArms(series(0), 2, seed).verdict === "PASS") passed += 1;
    expect(passed / SERIES).toBeGreaterThan(0.9);
  });
});

import { describe, expect, test } from "bun:test";
import { bcaInterval, percentileInterval, resample } from "../../../src/statistics/bootstrap.ts";
import { chao1, goodCoverage } from "../../../src/statistics/chao1.ts";
import { clopperPearson, effectiveSize, weightedProportion } from "../../../src/statistics/clopper-pearson.ts";
import { incompleteBeta, inverseIncompleteBeta, logGamma } from "../../../src/statistics/incomplete-beta.ts";
import { interval, scaled } from "../../../src/statistics/interval.ts";
import { normalCdf, normalQuantile } from "../../../src/statistics/normal.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { ratioInterval } from "../../../src/statistics/ratio.ts";
import { observedQuantile } from "../../../src/statistics/weighted-quantile.ts";

/** Constants below without another source: SciPy 1.17.1, scipy.special.betainc and gammaln, scipy.stats.beta and norm. */
describe("special functions", () => {
  test("the incomplete beta function agrees with SciPy", () => {
    const cases = [
      [2, 3, 0.4, 0.5248],
      [0.5, 0.5, 0.1, 0.20483276469913345],
      [30, 70, 0.25, 0.1358149042834277],
      [500, 1500, 0.26, 0.8490456364450458],
      [1e4, 10, 0.999, 0.45674113523447546],
    ] as const;
    for (const [a, b, x, p] of cases) {
      expect(Math.abs(incompleteBeta(a, b, x) / p - 1)).toBeLessThan(1e-9);
      expect(Math.abs(inverseIncompleteBeta(a, b, p) / x - 1)).toBeLessThan(1e-9);
    }
  });

  test("log gamma agrees with SciPy and with factorials", () => {
    expect(logGamma(0.1)).toBeCloseTo(2.252712651734206, 12);
    expect(logGamma(10.5)).toBeCloseTo(13.940625219403763, 11);
    expect(logGamma(1000)).toBeCloseTo(5905.220423209181, 8);
    expect(logGamma(6)).toBeCloseTo(Math.log(120), 12);
  });

  test("the normal distribution agrees with SciPy in the middle and the tails", () => {
    expect(Math.abs(normalCdf(-6) / 9.865876450376946e-10 - 1)).toBeLessThan(1e-9);
    expect(Math.abs(normalCdf(-4.5) / 3.3976731247300535e-6 - 1)).toBeLessThan(1e-9);
    expect(normalCdf(-1.96)).toBeCloseTo(0.024997895148220435, 14);
    expect(normalCdf(0.3)).toBeCloseTo(0.6179114221889526, 14);
    expect(normalCdf(3.9)).toBeCloseTo(0.9999519036559824, 14);
    expect(normalQuantile(1e-6)).toBeCloseTo(-4.753424308822899, 9);
    expect(normalQuantile(0.025)).toBeCloseTo(-1.9599639845400545, 10);
    expect(normalQuantile(0.4)).toBeCloseTo(-0.2533471031357997, 10);
    expect(normalQuantile(0.999)).toBeCloseTo(3.090232306167813, 10);
  });
});

describe("the exact interval of a proportion", () => {
  test("agrees with SciPy's beta quantiles", () => {
    const cases = [
      [0, 30, 0, 0.11570330822202778],
      [7, 20, 0.15390920478454118, 0.5921885345328282],
      [30, 30, 0.8842966917779722, 1],
      [15, 299, 0.02834660005634373, 0.0813941844080327],
      [1, 1000, 2.531748749129404e-5, 0.005558924279826672],
    ] as const;
    for (const [k, n, lo, hi] of cases) {
      const found = clopperPearson(k, n);
      expect(found.lo ?? -1).toBeCloseTo(lo, 11);
      expect(found.hi ?? -1).toBeCloseTo(hi, 11);
    }
  });

  test("0 of n ends at 1 - 0.025^(1/n)", () => {
    expect(clopperPearson(0, 299).hi ?? -1).toBeCloseTo(1 - 0.025 ** (1 / 299), 12);
  });

  test("no trials give no value and the whole range", () => {
    expect(clopperPearson(0, 0)).toEqual({ value: null, lo: 0, hi: 1 });
  });

  test("equal weights give the unweighted interval, unequal ones fewer effective units", () => {
    const success = [1, 0, 1, 0, 0, 0, 1, 0];
    const equal = weightedProportion(success, new Array<number>(8).fill(5));
    const plain = clopperPearson(3, 8);
    expect(equal.lo ?? -1).toBeCloseTo(plain.lo ?? 0, 10);
    expect(equal.hi ?? -1).toBeCloseTo(plain.hi ?? 0, 10);
    expect(effectiveSize([1, 1, 1, 1])).toBe(4);
    expect(effectiveSize([3, 1])).toBe(1.6);
  });
});

describe("Chao1", () => {
  test("is the formula of the paper where some classes were seen twice", () => {
    const found = chao1(120, 40, 20, 500);
    const a = 499 / 500;
    expect(found.value ?? 0).toBeCloseTo(120 + (a * 1600) / 40, 10);
    const variance = 20 * ((a * 4) / 2 + a * a * 8 + (a * a * 16) / 4);
    const t = (a * 1600) / 40;
    const k = Math.exp(1.959963984540054 * Math.sqrt(Math.log(1 + variance / t ** 2)));
    expect(found.lo ?? 0).toBeCloseTo(120 + t / k, 8);
    expect(found.hi ?? 0).toBeCloseTo(120 + t * k, 8);
  });

  test("takes the bias-corrected form where none was seen twice, and stays at what was seen where none was seen once", () => {
    expect(chao1(10, 4, 0, 50).value ?? 0).toBeCloseTo(10 + ((49 / 50) * 4 * 3) / 2, 10);
    expect(chao1(10, 0, 4, 50)).toEqual({ value: 10, lo: 10, hi: 10 });
    expect(chao1(0, 0, 0, 0).value).toBeNull();
  });

  test("finds equally hot lines from a sample that sees few of them twice", () => {
    const random = seededRandom(11);
    const lines = 20_000;
    const counts = new Uint8Array(lines);
    for (let i = 0; i < 4000; i++) {
      const line = Math.floor(random() * lines);
      counts[line] = (counts[line] ?? 0) + 1;
    }
    const of = (n: number): number => counts.reduce((sum, c) => sum + (c === n ? 1 : 0), 0);
    const seen = counts.reduce((sum, c) => sum + (c > 0 ? 1 : 0), 0);
    const found = chao1(seen, of(1), of(2), 4000);
    expect(found.lo ?? 0).toBeLessThan(lines);
    expect(found.hi ?? 0).toBeGreaterThan(lines);
    expect(goodCoverage(of(1), 4000) ?? 1).toBeLessThan(0.25);
  });
});

describe("resampling", () => {
  test("draws each stratum to its own size and repeats itself for one seed", () => {
    const stratum = [0, 0, 0, 1, 1, 1, 1, 2];
    const a = resample(stratum, 5);
    expect(a.length).toBe(999);
    for (const times of a) {
      expect((times[0] ?? 0) + (times[1] ?? 0) + (times[2] ?? 0)).toBe(3);
      expect(times[7]).toBe(1);
    }
    expect(resample(stratum, 5)).toEqual(a as Uint16Array[]);
    expect(resample(stratum, 6)).not.toEqual(a as Uint16Array[]);
  });

  test("BCa without bias and skew is the percentile interval", () => {
    const replicates = Float64Array.from({ length: 999 }, (_, i) => i - 499);
    const jackknife = Float64Array.from([-1, 0, 1]);
    const plain = percentileInterval(0, replicates, 0.95);
    const bca = bcaInterval(0, replicates, jackknife, 0.95);
    expect(bca.lo ?? 0).toBeCloseTo(plain.lo ?? 1, 6);
    expect(bca.hi ?? 0).toBeCloseTo(plain.hi ?? 1, 6);
  });

  test("BCa moves with the skew of the jackknife", () => {
    const replicates = Float64Array.from({ length: 999 }, (_, i) => i - 499);
    const skewed = Float64Array.from([-1, -1, -1, -1, -1, -1, -1, -1, -1, 9].map((x) => -x));
    const bca = bcaInterval(0, replicates, skewed, 0.95);
    expect((bca.hi ?? 0) + (bca.lo ?? 0)).toBeGreaterThan(20);
  });

  test("a ratio of sums has the sums' ratio as its value and no value over nothing", () => {
    const top = Float64Array.from([2, 4, 6, 8]);
    const bottom = Float64Array.from([1, 2, 3, 4]);
    expect(ratioInterval(top, bottom, resample([0, 0, 0, 0], 1))).toEqual({ value: 2, lo: 2, hi: 2 });
    expect(ratioInterval(top, new Float64Array(4), resample([0, 0, 0, 0], 1)).value).toBeNull();
  });

  test("the generator is uniform and its streams differ", () => {
    const random = seededRandom(1);
    let sum = 0;
    for (let i = 0; i < 100_000; i++) sum += random();
    expect(Math.abs(sum / 100_000 - 0.5)).toBeLessThan(0.005);
    expect(seededRandom(1, 0)()).not.toBe(seededRandom(1, 1)());
    expect(seededRandom(2 ** 40 + 1)()).not.toBe(seededRandom(1)());
  });
});

test("an interval encloses its value and turns what is not finite into null", () => {
  expect(interval(5, 6, 4)).toEqual({ value: 5, lo: 5, hi: 5 });
  expect(interval(Number.NaN, 1, Number.POSITIVE_INFINITY)).toEqual({ value: null, lo: 1, hi: null });
  expect(scaled(interval(2, 1, null), 10)).toEqual({ value: 20, lo: 10, hi: null });
});

test("a weighted quantile is the least value that reaches its share", () => {
  expect(observedQuantile([3, 1, 2], [1, 1, 2], 0.5)).toBe(2);
  expect(observedQuantile([3, 1, 2], [1, 8, 1], 0.5)).toBe(1);
  expect(observedQuantile([], [], 0.5)).toBeNull();
});

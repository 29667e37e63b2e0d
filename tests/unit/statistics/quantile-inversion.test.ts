import { describe, expect, test } from "bun:test";
import { resample } from "../../../src/statistics/bootstrap.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { quantileIntervals, shareIntervals } from "../../../src/statistics/quantile-inversion.ts";
import { boundedQuantiles, pooledSample } from "../../../src/statistics/survival/recurrent-survival.ts";
import { sharesOf } from "../../../src/statistics/survival/survival-shares.ts";

/** The quantile of times of which each unit shows one, all of them whole. */
const ofTimes = (times: readonly number[], q: number) =>
  boundedQuantiles(
    pooledSample(
      times.map((time) => ({ complete: [time], censored: [] })),
      new Float64Array(times.length).fill(1),
    ),
    [q],
    resample(new Uint8Array(times.length), 1, 0, 199),
  )[0];

describe("the interval of a quantile", () => {
  test("holds the 90th percentile of 80 exponential times in 95 of 100 samples", () => {
    const random = seededRandom(3);
    let held = 0;
    for (let run = 0; run < 200; run++) {
      const found = ofTimes(
        Array.from({ length: 80 }, () => -Math.log(1 - random())),
        0.9,
      );
      const truth = Math.log(10);
      if ((found?.lo ?? 0) <= truth && truth <= (found?.hi ?? Number.POSITIVE_INFINITY)) held += 1;
    }
    expect(held).toBeGreaterThanOrEqual(184);
  });

  test("has no upper end where even the longest time may be below the quantile", () => {
    const found = ofTimes(
      Array.from({ length: 40 }, (_, i) => i + 1),
      0.99,
    );
    expect(found?.hi).toBeNull();
    expect(found?.lo).toBeGreaterThan(30);
  });

  test("is one time where all are the same", () => {
    expect(ofTimes(new Array(100).fill(7), 0.5)).toEqual({ value: 7, lo: 7, hi: 7 });
  });

  test("has no upper end where few units were looked at so long, though the last of them fell", () => {
    const short = Array.from({ length: 95 }, (_, i) => ({ complete: [], censored: [10 + i / 100] }));
    const long = Array.from({ length: 5 }, (_, i) => ({ complete: [20 + i], censored: [] }));
    const sample = pooledSample([...short, ...long], new Float64Array(100).fill(1));
    const [median] = boundedQuantiles(sample, [0.5], resample(new Uint8Array(100), 1, 0, 199));
    expect(median?.value).toBeNull();
    expect(median?.hi).toBeNull();
  });

  test("begins no later than where the last of those ended that were looked at so long", () => {
    const whole = Array.from({ length: 850 }, (_, i) => ({ complete: [1 + i / 10], censored: [] }));
    const cut = Array.from({ length: 149 }, () => ({ complete: [], censored: [90] }));
    const sample = pooledSample([...whole, ...cut, { complete: [300], censored: [] }], new Float64Array(1000).fill(1));
    const [found] = boundedQuantiles(sample, [0.9], resample(new Uint8Array(1000), 1, 0, 199));
    // That one of 150 was seen to its end does not tell where the others end.
    expect(found?.value).toBeNull();
    expect(found?.lo).toBeGreaterThanOrEqual(80);
    expect(found?.lo).toBeLessThanOrEqual(90);
  });

  test("has an upper end where the value after it ends the curve on every resample, however few units carry it", () => {
    // Twelve busy units have nearly all of the times, 1 to 11, and of each of the others one time was seen, the longest of all.
    const busy = Array.from({ length: 12 }, (_, unit) => ({
      complete: Array.from({ length: 200 }, (_, i) => 1 + ((7 * i + unit) % 200) / 20),
      censored: [],
    }));
    const idle = Array.from({ length: 88 }, () => ({ complete: [20], censored: [] }));
    const weights = Float64Array.from({ length: 100 }, (_, unit) => (unit < 12 ? 1 : 0.1));
    const [found] = boundedQuantiles(
      pooledSample([...busy, ...idle], weights),
      [0.9],
      resample(new Uint8Array(100), 1, 0, 199),
    );
    expect(found?.hi).toBeWithin(9, 10.5);
  });

  test("begins no later than at the first value of which the share may be that of the quantile, though few of many are looked at", () => {
    for (let seed = 2; seed <= 3; seed++) {
      const random = seededRandom(seed);
      const units = Array.from({ length: 200 }, () => {
        const mean = -Math.log(1 - random());
        return { complete: Array.from({ length: 10 }, () => mean * (0.95 + 0.1 * random())), censored: [] };
      });
      const curve = sharesOf(pooledSample(units, new Float64Array(200).fill(1)));
      const resamples = resample(new Uint8Array(200), seed, 0, 199);
      const band = shareIntervals(curve, Uint32Array.from(curve.values.keys()), resamples, 200);
      const [found] = quantileIntervals(curve, [0.5], resamples, 200);
      const reaching = (end: "lo" | "hi"): number => band.findIndex((share) => (share[end] ?? 1) >= 0.5);
      expect(found?.lo).toBeLessThanOrEqual(curve.values[reaching("hi")] ?? 0);
      expect(found?.hi).toBeGreaterThanOrEqual(curve.values[reaching("lo") - 1] ?? 0);
      expect(found?.lo).toBeGreaterThan(0.97 * (curve.values[reaching("hi")] ?? 0));
    }
  });

  /** Times of 300 units that are cut at 1: the curve ends there, at a share that is a little above or below the quantile by chance. */
  const cutNearTheEnd = (seed: number) => {
    const random = seededRandom(seed);
    const times = Array.from({ length: 300 }, () => -Math.log(1 - random()));
    return times.map((time) =>
      time < 1 ? { complete: [time], censored: [] } : { complete: [], censored: [1 + random() / 1e3] },
    );
  };

  test("is right in the runs that have an upper end, and in those that have none, where chance decides it", () => {
    // 63.2 % of the times are below 1: the 58th percentile is reached with room in about half of the runs.
    const truth = -Math.log(0.42);
    const [both, lower] = [
      [0, 0],
      [0, 0],
    ] as [[number, number], [number, number]];
    for (let seed = 1; seed <= 150; seed++) {
      const sample = pooledSample(cutNearTheEnd(seed), new Float64Array(300).fill(1));
      const [found] = boundedQuantiles(sample, [0.58], resample(new Uint8Array(300), seed, 0, 199));
      const kind = found?.hi === null ? lower : both;
      kind[0] += 1;
      if ((found?.lo ?? 0) <= truth && truth <= (found?.hi ?? Number.POSITIVE_INFINITY)) kind[1] += 1;
    }
    expect(Math.min(both[0], lower[0])).toBeGreaterThanOrEqual(15);
    expect(both[1] / both[0]).toBeGreaterThanOrEqual(0.9);
    expect(lower[1] / lower[0]).toBeGreaterThanOrEqual(0.97);
  });
});

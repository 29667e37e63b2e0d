import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { adaptedPeriod, ditheredPeriod, isDue, nextPrime } from "../../../../../src/collect/ebpf/samples/period.ts";
import { seededDraws } from "../../../../../src/statistics/prng.ts";

function dividesNone(n: number): boolean {
  for (let d = 2; d * d <= n; d++) if (n % d === 0) return false;
  return n > 1;
}

describe("periods", () => {
  test("are primes within a tenth of the middle, and differ from draw to draw", () => {
    const random = seededDraws(7);
    const drawn = Array.from({ length: 200 }, () => ditheredPeriod(250_007, 1, random));
    expect(drawn.every(dividesNone)).toBe(true);
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(225_000);
    // A prime is at most some dozens above what was drawn.
    expect(Math.max(...drawn)).toBeLessThan(275_008 + 200);
    expect(new Set(drawn).size).toBeGreaterThan(150);
    const mean = drawn.reduce((sum, period) => sum + period, 0) / drawn.length;
    expect(Math.abs(mean / 250_007 - 1)).toBeLessThan(0.02);
  });

  test("in steps are a step times a prime", () => {
    const random = seededDraws(7);
    for (let i = 0; i < 50; i++) {
      const period = ditheredPeriod(16 * 15_629, 16, random);
      expect(period % 16).toBe(0);
      expect(dividesNone(period / 16)).toBe(true);
    }
  });

  test("come to the rate that is wanted and stay there", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e5, max: 1e10, noNaN: true }), (eventsPerSecond) => {
        let period = 250_007;
        for (let second = 0; second < 20; second++) period = adaptedPeriod(period, eventsPerSecond / period, 2000);
        const rate = eventsPerSecond / period;
        // Above what is wanted only where the period is as long as it can be.
        if (period < 100_000_007) expect(rate).toBeLessThanOrEqual(2000.001);
        if (period > 1009) expect(rate).toBeGreaterThanOrEqual(1000);
        expect(adaptedPeriod(period, rate, 2000)).toBe(period);
      }),
    );
  });

  test("change on a CPU after enough of its samples, so that an idle one loses less than a hundredth, or with the middle", () => {
    let forgotten = 0;
    let samples = 0;
    let since = 0;
    for (let second = 0; second < 1000; second++) {
      samples += 5;
      since += 5;
      if (!isDue(since, false)) continue;
      since = 0;
      forgotten += 0.5;
    }
    expect(forgotten).toBeGreaterThan(0);
    expect(forgotten / samples).toBeLessThan(0.01);
    expect(isDue(0, true)).toBe(true);
  });

  test("the least prime from a number on", () => {
    expect([0, 2, 4, 90, 250_000].map(nextPrime)).toEqual([2, 2, 5, 97, 250_007]);
  });
});

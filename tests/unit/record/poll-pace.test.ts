import { describe, expect, test } from "bun:test";
import { EAGER_POLL_MS, MOST_CUT_SHARE, pollPace, STEADY_POLL_MS, unevenRest } from "../../../src/record/poll-pace.ts";

import { seededRandom } from "../../../src/statistics/prng.ts";

const SECOND = 1_000_000_000n;
/** What so many faults fill of a ring that may hold 32,768 of them between two polls. */
const faults = (n: number): number => n / 32_768;
const ms = (n: number): bigint => BigInt(n) * 1_000_000n;

describe("the pace of polls", () => {
  test("is eager for two seconds where the target starts, whatever comes, and steady after them", () => {
    const pace = pollPace(5n, true, Infinity);
    expect(pace.after(5n, faults(0))).toBe(EAGER_POLL_MS);
    expect(pace.after(4n + 2n * SECOND, faults(0))).toBe(EAGER_POLL_MS);
    expect(pace.after(5n + 2n * SECOND, faults(0))).toBe(STEADY_POLL_MS);
  });

  test("is steady from the first on where the target has been running", () => {
    expect(pollPace(5n, false, Infinity).after(5n, faults(0))).toBe(STEADY_POLL_MS);
  });

  test("rests as long as 32,768 faults take to come, whatever the rest before was, within its limits", () => {
    const pace = pollPace(0n, false, Infinity);
    let now = 3n * SECOND;
    pace.after(now, faults(0));
    for (const [rest, rows, expected] of [
      [50, 32_768, STEADY_POLL_MS],
      [40, 32_768, 40],
      [40, 65_536, 20],
      [20, 32_768, 20],
      [5, 3000, STEADY_POLL_MS],
      [5, 8192, 20],
      // At 2.5 M rows/s of one CPU, whose ring holds 46 ms of them.
      [10, 25_000, 13],
      [10, 80_000, EAGER_POLL_MS],
      // A poll that came late brings more, which is no faster rate.
      [200, 100_000, STEADY_POLL_MS],
    ] as const) {
      now += ms(rest);
      expect(pace.after(now, faults(rows))).toBe(expected);
    }
  });

  test("rests no longer than those who wait can bear, and as briefly as ever where the rings fill", () => {
    const pace = pollPace(0n, false, 12);
    expect(pace.after(3n * SECOND, faults(0))).toBe(12);
    expect(pace.after(3n * SECOND + ms(10), faults(40_960))).toBe(8);
  });

  test("does not take two polls in one instant for a rate", () => {
    const pace = pollPace(0n, false, Infinity);
    pace.after(3n * SECOND, faults(0));
    expect(pace.after(3n * SECOND, faults(100))).toBe(STEADY_POLL_MS);
  });

  test("has rests of uneven length, so that it cannot fall into step with a program", () => {
    const random = seededRandom(1);
    const rests = Array.from({ length: 1000 }, () => unevenRest(20, random));
    expect(Math.max(...rests)).toBeLessThanOrEqual(20);
    expect(Math.min(...rests)).toBeGreaterThanOrEqual(20 * (1 - MOST_CUT_SHARE));
    const mean = rests.reduce((a, b) => a + b, 0) / rests.length;
    expect(mean).toBeCloseTo(20 * (1 - MOST_CUT_SHARE / 2), 0);
  });
});

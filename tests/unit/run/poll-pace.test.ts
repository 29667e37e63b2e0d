import { describe, expect, test } from "bun:test";
import { EAGER_POLL_MS, pollPace, STEADY_POLL_MS } from "../../../src/run/poll-pace.ts";

const SECOND = 1_000_000_000n;
const ms = (n: number): bigint => BigInt(n) * 1_000_000n;

describe("the pace of polls", () => {
  test("is eager for two seconds where the target starts, whatever comes, and steady after them", () => {
    const pace = pollPace(5n, true);
    expect(pace.after(5n, 0)).toBe(EAGER_POLL_MS);
    expect(pace.after(4n + 2n * SECOND, 0)).toBe(EAGER_POLL_MS);
    expect(pace.after(5n + 2n * SECOND, 0)).toBe(STEADY_POLL_MS);
  });

  test("is steady from the first on where the target has been running", () => {
    expect(pollPace(5n, false).after(5n, 0)).toBe(STEADY_POLL_MS);
  });

  test("rests as long as a quarter of a ring takes to fill, whatever the rest before was, within its limits", () => {
    const pace = pollPace(0n, false);
    let now = 3n * SECOND;
    pace.after(now, 0);
    for (const [rest, rows, expected] of [
      [20, 16_384, STEADY_POLL_MS],
      [20, 32_768, 10],
      [10, 16_384, 10],
      [5, 4096, STEADY_POLL_MS],
      [5, 8192, 10],
      // At 2.5 M rows/s of one CPU, whose ring holds 26 ms of them.
      [10, 25_000, 6],
      [10, 80_000, EAGER_POLL_MS],
      // A poll that came late brings more, which is no faster rate.
      [200, 100_000, STEADY_POLL_MS],
    ] as const) {
      now += ms(rest);
      expect(pace.after(now, rows)).toBe(expected);
    }
  });

  test("does not take two polls in one instant for a rate", () => {
    const pace = pollPace(0n, false);
    pace.after(3n * SECOND, 0);
    expect(pace.after(3n * SECOND, 100)).toBe(STEADY_POLL_MS);
  });
});

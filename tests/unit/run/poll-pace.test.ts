import { describe, expect, test } from "bun:test";
import { EAGER_POLL_MS, pollPace, STEADY_POLL_MS } from "../../../src/run/poll-pace.ts";

const SECOND = 1_000_000_000n;
const ms = (n: number): bigint => BigInt(n) * 1_000_000n;

describe("the pace of polls", () => {
  test("is eager for two seconds, whatever comes, and steady after them", () => {
    const pace = pollPace(5n);
    expect(pace.after(5n, 0)).toBe(EAGER_POLL_MS);
    expect(pace.after(4n + 2n * SECOND, 0)).toBe(EAGER_POLL_MS);
    expect(pace.after(5n + 2n * SECOND, 0)).toBe(STEADY_POLL_MS);
  });

  test("turns eager where a steady rest would find a quarter of a ring or more, whatever the rest before was", () => {
    const pace = pollPace(0n);
    let now = 3n * SECOND;
    pace.after(now, 0);
    for (const [rest, rows, expected] of [
      [20, 16_384, STEADY_POLL_MS],
      [20, 16_385, EAGER_POLL_MS],
      [5, 4096, STEADY_POLL_MS],
      [5, 4097, EAGER_POLL_MS],
      // A poll that came late brings more, which is no faster rate.
      [200, 100_000, STEADY_POLL_MS],
    ] as const) {
      now += ms(rest);
      expect(pace.after(now, rows)).toBe(expected);
    }
  });

  test("does not take two polls in one instant for a rate", () => {
    const pace = pollPace(0n);
    pace.after(3n * SECOND, 0);
    expect(pace.after(3n * SECOND, 100)).toBe(STEADY_POLL_MS);
  });
});

import { expect, test } from "bun:test";
import { clockPair, fromMonotonic, toMonotonic, toMonotonicBetween, wallTime } from "../../../src/columnar/clock.ts";

const pair = clockPair(1000n, 5_000_000n, 1200n);

test("a pair lies in the middle of the readings around it and knows how far it may be wrong", () => {
  expect(pair).toEqual({ monotonic_ns: 1100n, other_ns: 5_000_000n, uncertainty_ns: 100n });
  expect(clockPair(10n, 0n, 13n).uncertainty_ns).toBe(2n);
});

test("a time goes to the other clock and back unchanged", () => {
  for (const time of [0n, 1n, 2n ** 63n, -5n]) expect(toMonotonic(fromMonotonic(time, pair), pair)).toBe(time);
  expect(toMonotonic(5_000_010n, pair)).toBe(1110n);
});

test("drift between two pairs is taken out, between and beyond them", () => {
  const first = clockPair(0n, 0n, 0n);
  const last = clockPair(1_000_100n, 1_000_000n, 1_000_100n);
  expect(toMonotonicBetween(500_000n, first, last)).toBe(500_050n);
  expect(toMonotonicBetween(2_000_000n, first, last)).toBe(2_000_200n);
  expect(toMonotonicBetween(7n, first, first)).toBe(7n);
});

test("a monotonic time becomes wall time", () => {
  const realtime = clockPair(100n, 1_700_000_000_000_000_000n, 100n);
  expect(wallTime(100n + 1_500_000_000n, realtime)).toBe("2023-11-14T22:13:21.500Z");
});

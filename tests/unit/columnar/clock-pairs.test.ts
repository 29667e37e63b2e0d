import { expect, test } from "bun:test";
import { clockPair } from "../../../src/columnar/clock-pairs.ts";

test("a pair lies in the middle of the readings around it and knows how far it may be wrong", () => {
  expect(clockPair(1000n, 5_000_000n, 1200n)).toEqual({
    monotonic_ns: 1100n,
    other_ns: 5_000_000n,
    uncertainty_ns: 100n,
  });
  expect(clockPair(10n, 0n, 13n).uncertainty_ns).toBe(2n);
});

import { expect, test } from "bun:test";
import { createCooldown } from "../../../src/target/cooldown.ts";

/** Index of the first sample, one per second, at which it is over; null if it never is. */
function overAt(samples: readonly number[], quietS: number): number | null {
  const cooldown = createCooldown(quietS * 1e9);
  const at = samples.findIndex((rss, i) => cooldown.over(rss, BigInt(i) * 1_000_000_000n));
  return at < 0 ? null : at;
}

const FIRST = [100, 100, 100, 100, 100];

test("memory that never rose has nothing to cool down from", () => {
  expect(overAt([...FIRST, 101, 100, 99, 100, 104, 100, 100], 1)).toBeNull();
});

test("it is over when memory has been back within 5 % for the time asked", () => {
  expect(overAt([...FIRST, 300, 300, 104, 103, 102, 101], 2)).toBe(9);
});

test("another rise starts the time again", () => {
  expect(overAt([...FIRST, 300, 104, 103, 300, 104, 103, 102], 2)).toBe(11);
});

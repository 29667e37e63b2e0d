import { expect, test } from "bun:test";
import { createLookPace } from "../../../../../src/collect/ebpf/residency/look-pace.ts";

const MS = 1_000_000n;
const S = 1000n * MS;

test("the first look is a second after the begin, and cheap ones follow once a second", () => {
  const pace = createLookPace(5n * S);
  expect(pace.isDue(6n * S - 1n)).toBe(false);
  expect(pace.isDue(6n * S)).toBe(true);
  pace.looked(6n * S, MS, 1000);
  expect(pace.isDue(7n * S - 1n)).toBe(false);
  expect(pace.isDue(7n * S)).toBe(true);
});

test("looks hold the lock of the map for at most a thousandth of the time", () => {
  const pace = createLookPace(0n);
  // 30 GB in small pages.
  pace.looked(S, 150n * MS, 1000);
  expect(pace.isDue(151n * S - 1n)).toBe(false);
  expect(pace.isDue(151n * S)).toBe(true);
});

test("a thousand rows a second are written at most", () => {
  const pace = createLookPace(0n);
  pace.looked(S, MS, 20_000);
  expect(pace.isDue(21n * S - 1n)).toBe(false);
  expect(pace.isDue(21n * S)).toBe(true);
});

test("in a long run looks become rare: each waits for a 64th of the time before it", () => {
  const pace = createLookPace(0n);
  let looks = 0;
  for (let now = 0n; now < 86_400n * S; now += S) {
    if (!pace.isDue(now)) continue;
    pace.looked(now, MS, 100);
    looks += 1;
  }
  expect(looks).toBeGreaterThan(400);
  expect(looks).toBeLessThan(600);
});

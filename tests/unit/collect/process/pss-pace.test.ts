import { expect, test } from "bun:test";
import { createPssPace } from "../../../../src/collect/process/pss-pace.ts";

const MIB = 2n ** 20n;
const S = 1_000_000_000n;

test("PSS is read again after the least time, or after 1,000 times what it took", () => {
  const pace = createPssPace(5n * S);
  expect(pace.isDue(0n, 100n * MIB)).toBe(true);
  pace.read(0n, 1_000_000n, 100n * MIB);
  expect(pace.isDue(5n * S - 1n, 100n * MIB)).toBe(false);
  expect(pace.isDue(5n * S, 100n * MIB)).toBe(true);
  pace.read(5n * S, 8_000_000n, 100n * MIB);
  expect(pace.isDue(13n * S - 1n, 100n * MIB)).toBe(false);
  expect(pace.isDue(13n * S, 100n * MIB)).toBe(true);
});

test("PSS is not read where it would hold the lock for more than 10 ms, by 200 ns a page until a read took less", () => {
  const pace = createPssPace(S);
  expect(pace.isDue(0n, 195n * MIB)).toBe(true);
  expect(pace.isDue(0n, 196n * MIB)).toBe(false);
  // Huge pages: 195 MiB in 0.1 ms.
  pace.read(0n, 100_000n, 195n * MIB);
  expect(pace.isDue(S, 19_000n * MIB)).toBe(true);
  expect(pace.isDue(S, 20_000n * MIB)).toBe(false);
  // A read that was interrupted says nothing of the next one.
  pace.read(S, 900_000_000n, 195n * MIB);
  expect(pace.isDue(901n * S, 19_000n * MIB)).toBe(true);
});

test("PSS of a process for whose lock nobody else waits is read however large it is", () => {
  expect(createPssPace(S, Number.POSITIVE_INFINITY).isDue(0n, 30_000n * MIB)).toBe(true);
});

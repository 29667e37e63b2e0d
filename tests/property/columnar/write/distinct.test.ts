import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { distinctNumbers } from "../../../../src/columnar/write/distinct.ts";

/** The most distinct numbers that so many rows may have for a dictionary. */
const mostOf = (rows: number): number => Math.min(1 << 13, Math.max(16, rows >> 2));

/** Runs of numbers that ascend, each from where it likes: times of several CPUs, or addresses touched in order. */
function numbers(largest: bigint): fc.Arbitrary<bigint[]> {
  const run = fc.record({
    first: fc.bigInt({ min: 0n, max: largest }),
    step: fc.constantFrom(0n, 1n, 1n, 4096n, largest / 7n),
    length: fc.integer({ min: 1, max: 40 }),
  });
  return fc
    .array(run, { maxLength: 12 })
    .map((runs) =>
      runs.flatMap(({ first, step, length }) =>
        Array.from({ length }, (_, i) => (first + BigInt(i) * step) % (largest + 1n)),
      ),
    );
}

function check(values: readonly bigint[], wide: boolean): void {
  const words = wide
    ? new Uint32Array(BigUint64Array.from(values).buffer)
    : Uint32Array.from(values, (value) => Number(value));
  const found = distinctNumbers(words, values.length, wide, new Uint32Array(values.length));
  const codeOf = new Map<bigint, number>();
  for (const value of values) if (!codeOf.has(value)) codeOf.set(value, codeOf.size);
  if (codeOf.size > mostOf(values.length)) {
    expect(found).toBeNull();
    return;
  }
  expect(found?.count).toBe(codeOf.size);
  expect([...(found?.codes ?? [])]).toEqual(values.map((value) => codeOf.get(value) ?? -1));
  expect([...(found?.firstRow ?? [])]).toEqual([...codeOf.keys()].map((value) => values.indexOf(value)));
}

describe("numbers as codes", () => {
  test("of 64 bits are coded by first appearance, unless too many of them are distinct", () => {
    fc.assert(
      fc.property(numbers((1n << 64n) - 1n), (values) => check(values, true)),
      { numRuns: 300 },
    );
  });

  test("of 32 bits are coded by first appearance, unless too many of them are distinct", () => {
    fc.assert(
      fc.property(numbers((1n << 32n) - 1n), (values) => check(values, false)),
      { numRuns: 300 },
    );
  });

  test("that ascend to the end are coded as long as so many may be distinct, and no longer", () => {
    for (const [rows, coded] of [
      [16, true],
      [17, false],
      [1 << 14, false],
    ] as const) {
      const words = Uint32Array.from({ length: rows }, (_, i) => 3 * i);
      expect(distinctNumbers(words, rows, false, new Uint32Array(rows)) !== null).toBe(coded);
    }
  });
});

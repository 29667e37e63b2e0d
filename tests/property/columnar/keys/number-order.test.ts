import { expect, test } from "bun:test";
import fc from "fast-check";
import { everyRow, numberOrder } from "../../../../src/columnar/keys/number-order.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";

const number = fc.oneof(
  fc.double({ noNaN: true }),
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(0, -0, 2 ** 53, 2 ** 32, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
);

test("rows come in order of their numbers, those of one number as they were", () => {
  fc.assert(
    fc.property(fc.array(number, { maxLength: 200 }), (numbers) => {
      const sorted = numbers.map((_, i) => i).sort((a, b) => (numbers[a] ?? 0) - (numbers[b] ?? 0) || a - b);
      const expected = numbers.some((value) => !Number.isFinite(value))
        ? sorted.toSorted((a, b) =>
            (numbers[a] ?? 0) < (numbers[b] ?? 0) ? -1 : (numbers[a] ?? 0) > (numbers[b] ?? 0) ? 1 : a - b,
          )
        : sorted;
      expect([...numberOrder(everyRow(numbers.length), Float64Array.from(numbers))]).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});

test("so do more rows than are sorted at once, however unevenly their numbers lie", () => {
  const random = seededRandom(5);
  const numbers = Float64Array.from({ length: 300_000 }, (_, i) => {
    if (i % 3 === 0) return 7;
    if (i % 7 === 0) return Number.POSITIVE_INFINITY;
    return (i % 2 === 0 ? 0x7f00_0000_0000 : -5) + Math.floor(random() * (i % 5 === 0 ? 3 : 2 ** 40));
  });
  const rows = everyRow(numbers.length).reverse();
  const order = numberOrder(rows, numbers);
  const wrong = order.findIndex((row, i) => {
    const before = order[i - 1];
    if (before === undefined) return false;
    const [a, b] = [numbers[before] as number, numbers[row] as number];
    // Those of one number as they were: the rows came from the last to the first.
    return a > b || (a === b && before < row);
  });
  expect(wrong).toBe(-1);
  expect(new Set(order).size).toBe(numbers.length);
});

import { expect, test } from "bun:test";
import fc from "fast-check";
import { everyRow, numberOrder } from "../../../../src/columnar/keys/number-order.ts";

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

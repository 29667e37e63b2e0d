import { expect, test } from "bun:test";
import fc from "fast-check";
import { decodeDelta } from "../../../../src/columnar/read/delta.ts";
import { deltaRoom, encodeDelta } from "../../../../src/columnar/write/delta.ts";

/** Small steps, and steps whose low words alone, or taken with a sign, say something else. */
const step = fc.oneof(
  { weight: 30, arbitrary: fc.bigInt({ min: -40n, max: 40n }) },
  { weight: 1, arbitrary: fc.bigInt({ min: -(2n ** 33n), max: 2n ** 33n }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      2n ** 31n - 1n,
      2n ** 31n,
      3n * 2n ** 30n,
      2n ** 32n - 50n,
      -(2n ** 31n),
      -(2n ** 31n) - 1n,
    ),
  },
);
/** Just before or behind where the high word changes, or far from it. */
const first = fc.oneof(fc.bigInt({ min: -60n, max: 60n }), fc.constantFrom(2n ** 31n, 2n ** 31n - 20n));
const numbers = fc.tuple(first, fc.array(step, { maxLength: 300 })).map(([begin, steps]) => {
  let value = 2n ** 40n + begin;
  return [value, ...steps.map((by) => (value += by))];
});

test("numbers of 64 bits come back from their differences, or are refused where a block of these spans 2^32", () => {
  let refused = 0;
  fc.assert(
    fc.property(numbers, (given) => {
      const words = new Int32Array(BigInt64Array.from(given).buffer);
      const out = new Uint8Array(deltaRoom(given.length));
      const encoded = encodeDelta(words, given.length, true, out, 0);
      const spans = Array.from({ length: Math.ceil((given.length - 1) / 128) }, (_, block) => {
        const steps = given
          .slice(128 * block + 1, 128 * block + 129)
          .map((value, i) => Number(value - (given[128 * block + i] ?? 0n)));
        return Math.max(...steps) - Math.min(...steps);
      });
      if (spans.some((span) => span >= 2 ** 32)) {
        refused += 1;
        expect(encoded).toBeNull();
        return;
      }
      const ascending = given.every((value, i) => i === 0 || value >= (given[i - 1] ?? 0n));
      expect(encoded).toEqual({ end: expect.any(Number), ascending });
      const back = new Uint32Array(2 * given.length);
      decodeDelta(out.subarray(0, encoded?.end), 0, true, given.length, back, 0);
      expect(Array.from(new BigInt64Array(back.buffer))).toEqual(given);
    }),
    { numRuns: 2000 },
  );
  expect(refused).toBeLessThan(1800);
});

test("numbers of 32 bits come back from their differences", () => {
  const narrow = fc.array(fc.oneof(fc.nat(300), fc.integer({ min: -(2 ** 30), max: 2 ** 30 })), {
    minLength: 1,
    maxLength: 300,
  });
  fc.assert(
    fc.property(narrow, (given) => {
      const out = new Uint8Array(deltaRoom(given.length));
      const encoded = encodeDelta(Int32Array.from(given), given.length, false, out, 0);
      const back = new Uint32Array(given.length);
      if (encoded !== null) {
        decodeDelta(out.subarray(0, encoded.end), 0, false, given.length, back, 0);
        expect(Array.from(new Int32Array(back.buffer))).toEqual(given);
      } else expect(Math.max(...given) - Math.min(...given)).toBeGreaterThanOrEqual(2 ** 30);
    }),
    { numRuns: 500 },
  );
});

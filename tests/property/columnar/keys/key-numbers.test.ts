import { expect, test } from "bun:test";
import fc from "fast-check";
import { FULL, keyNumbers } from "../../../../src/columnar/keys/key-numbers.ts";

/** Words that meet often, and such as differ in one bit only. */
const word = fc.oneof(fc.nat(3), fc.constantFrom(0x8000_0000, 0xffff_ffff, 1 << 16), fc.nat());

test("keys are numbered in the order in which they are first met, whatever their words, up to as many as may be", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(word, word, word), { maxLength: 300 }),
      fc.oneof(fc.nat(50), fc.constant(Number.POSITIVE_INFINITY)),
      (keys, most) => {
        const numbers = keyNumbers(most);
        const known = new Map<string, number>();
        for (const [owner, low, high] of keys) {
          const name = `${owner}/${low}/${high}`;
          if (!known.has(name) && known.size < most) known.set(name, known.size);
          expect(numbers.find(owner, low, high)).toBe(known.get(name) ?? FULL);
          expect(numbers.count).toBe(known.size);
        }
      },
    ),
  );
});

test("a hundred thousand keys in a row, and as many a page apart, keep their numbers", () => {
  const numbers = keyNumbers();
  const keys = 100_000;
  for (let i = 0; i < keys; i++) expect(numbers.find(7, i, 1)).toBe(i);
  for (let i = 0; i < keys; i++) expect(numbers.find(8, (i << 12) >>> 0, i >>> 20)).toBe(keys + i);
  for (let i = 0; i < keys; i++) expect(numbers.find(7, i, 1)).toBe(i);
});

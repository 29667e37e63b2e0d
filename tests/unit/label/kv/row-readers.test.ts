import { expect, test } from "bun:test";
import { neededFrom, readersBySequence } from "../../../../src/label/kv/row-readers.ts";

/** Sequence 0 goes on by one position a batch, and goes back by 40 every 300 batches. */
function batches(n: number) {
  const readers = readersBySequence();
  const mine = readers.of([0]);
  const firsts = Array.from({ length: n }, (_, i) => i - 40 * Math.floor(i / 300));
  for (const [i, first] of firsts.entries()) readers.note(0, first, 10 * i);
  return { mine, firsts };
}

test.each([0, 100, 255, 256, 700])(
  "a batch needs a row where its first token is in reach, from batch %d on",
  (from) => {
    const { mine, firsts } = batches(2000);
    for (const last of [-1, 50, 260, 275, 512, 1500, 5000]) {
      const { spans, passed_ns } = neededFrom(mine, from, last);
      const found = spans.flatMap((span) => Array.from({ length: span.until - span.from }, (_, i) => span.from + i));
      const needed = [...firsts.keys()].filter((i) => i >= from && (firsts[i] ?? 0) <= last);
      expect(found).toEqual(needed);
      const next = (needed.at(-1) ?? from - 1) + 1;
      expect(passed_ns).toBe(next < firsts.length ? 10 * next : null);
    }
  },
);

test("a row of several sequences is in reach as long as that of one of them is", () => {
  const readers = readersBySequence();
  const both = readers.of([0, 1]);
  for (const [sequence, position, begin_ns] of [
    [0, 9, 1],
    [1, 4, 1],
    [0, 10, 2],
    [1, 5, 3],
  ] as const)
    readers.note(sequence, position, begin_ns);
  expect(both.begins).toEqual([1, 2, 3]);
  expect(neededFrom(both, 0, 5)).toEqual({
    spans: [
      { begins: both.begins, from: 0, until: 1 },
      { begins: both.begins, from: 2, until: 3 },
    ],
    passed_ns: null,
  });
});

test("those of the last of whose rows nothing is left are forgotten, and begin anew where they come again", () => {
  const readers = readersBySequence();
  const one = readers.of([0]);
  readers.hold(one);
  const both = readers.together(one, 1);
  readers.hold(both);
  readers.release(one);
  readers.note(0, 5, 10);
  expect([one.begins, both.begins]).toEqual([[], [10]]);
  expect(readers.of([0, 1])).toBe(both);
  expect(readers.without(both, 0)?.owners).toEqual([1]);
  expect(readers.without(readers.of([1]), 1)).toBeNull();
  const again = readers.without(both, 1);
  expect(again?.owners).toEqual([0]);
  expect(again).not.toBe(one);
});

test("those of one more sequence are the same for all rows that follow each other", () => {
  const readers = readersBySequence();
  const before = readers.of([3, 7]);
  const after = readers.together(before, 5);
  expect(after.owners).toEqual([3, 5, 7]);
  expect(readers.together(before, 5)).toBe(after);
  readers.hold(after);
  readers.release(after);
  expect(readers.together(before, 5)).not.toBe(after);
});

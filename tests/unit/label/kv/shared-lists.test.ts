import { expect, test } from "bun:test";
import { NO_OTHERS, sharedLists } from "../../../../src/label/kv/shared-lists.ts";

test("a list goes on where others have it too, and is the same where it has the sequence", () => {
  const lists = sharedLists();
  const pair = lists.of([3, 1]);
  const more = lists.more(pair, 7);
  expect([pair, more].map((list) => [...lists.ids(list)])).toEqual([
    [3, 1],
    [3, 1, 7],
  ]);
  expect(lists.more(more, 1)).toBe(more);
  expect([...lists.ids(lists.more(pair, 9))]).toEqual([3, 1, 9]);
  expect(lists.ids(NO_OTHERS)).toEqual([]);
});

test("rows that follow each other and get the same sequence have one list", () => {
  const lists = sharedLists();
  expect(lists.more(NO_OTHERS, 4)).toBe(lists.more(NO_OTHERS, 4));
});

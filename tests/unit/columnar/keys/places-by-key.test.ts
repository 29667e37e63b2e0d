import { expect, test } from "bun:test";
import { placesByKey } from "../../../../src/columnar/keys/places-by-key.ts";

test("places are in order by their keys, these in order of their first place, without those that have none", () => {
  const keys = ["b", null, "a", "b", "a", null, "c"];
  const places = placesByKey(keys.length, (place) => keys[place] ?? null);
  expect([...places].map(([key, mine]) => [key, [...mine]])).toEqual([
    ["b", [0, 3]],
    ["a", [2, 4]],
    ["c", [6]],
  ]);
  expect(placesByKey(0, () => "a").size).toBe(0);
});

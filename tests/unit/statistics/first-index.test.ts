import { expect, test } from "bun:test";
import { countBelow, countUpTo, firstIndex } from "../../../src/statistics/first-index.ts";

test("the first index is where the things that lie before end, for every length and place", () => {
  for (let length = 0; length < 20; length++) {
    for (let place = 0; place <= length; place++) {
      const asked: number[] = [];
      const liesBefore = (index: number): boolean => asked.push(index) > 0 && index < place;
      expect(firstIndex(length, liesBefore)).toBe(place);
      expect(asked.every((index) => index >= 0 && index < length)).toBe(true);
    }
  }
});

test("how many numbers in order are less than one, or no greater, is what a search by each of them says", () => {
  const sorted = Float64Array.of(-3, -3, 0, 1.5, 1.5, 1.5, 7);
  for (const value of [-4, -3, -1, 0, 1, 1.5, 2, 7, 8]) {
    expect(countBelow(sorted, value)).toBe(sorted.filter((one) => one < value).length);
    expect(countUpTo(sorted, value)).toBe(sorted.filter((one) => one <= value).length);
  }
  expect([countBelow(new Float64Array(0), 1), countUpTo(new Float64Array(0), 1)]).toEqual([0, 0]);
});

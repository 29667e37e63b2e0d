import { expect, test } from "bun:test";
import { firstIndex } from "../../../src/statistics/first-index.ts";

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

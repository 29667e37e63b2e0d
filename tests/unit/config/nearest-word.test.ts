import { expect, test } from "bun:test";
import { nearestWord } from "../../../src/config/nearest-word.ts";

const WORDS = ["run", "analyse", "report", "region_map", "schema"];

test("the nearest word is the one with the fewest letters changed", () => {
  expect(nearestWord("regionmap", WORDS)).toBe("region_map");
  expect(nearestWord("Analyze", WORDS)).toBe("analyse");
  expect(nearestWord("rnu", WORDS)).toBe("run");
});

test("no word is near to one that shares too little with all", () => {
  expect(nearestWord("telemetry", WORDS)).toBeNull();
  expect(nearestWord("xyz", WORDS)).toBeNull();
  // Two of three letters are others.
  expect(nearestWord("foo", ["hot", "run"])).toBeNull();
  expect(nearestWord("", WORDS)).toBeNull();
  expect(nearestWord("run", [])).toBeNull();
});

import { expect, test } from "bun:test";
import { grid } from "../../../src/report/grid.ts";

const cell = (text: string) => [{ text }];
const rows = [
  { label: "weight", heading: true, cells: [] },
  { label: "  page faults: first touches", cells: [cell("24 faults"), cell("34 faults")] },
];
const textOf = (width: number): string[] =>
  grid(["A", "B"], rows, width, "-").map((line) =>
    line
      .map(({ text }) => text)
      .join("")
      .trimEnd(),
  );

test("names stand beside their cells where these have room", () => {
  expect(textOf(60)).toContain("  page faults: first touches  24 faults  34 faults");
});

test("names stand above their cells where a cell beside them would be cut", () => {
  const lines = textOf(30);
  expect(lines.slice(-3)).toEqual(["weight", "  page faults: first touches", "  24 faults  34 faults"]);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(30);
});

test("names stand above each band of columns that have no room side by side", () => {
  expect(textOf(20).filter((line) => /page|faults/.test(line))).toEqual([
    "  page faults: first touches",
    "  24 faults",
    "  page faults: first touches",
    "  34 faults",
  ]);
});

import { expect, test } from "bun:test";
import { expertsText } from "../../../src/report/run-lines.ts";
import { plainReport } from "../../fixtures/run-report.ts";

const withExperts = (...experts: readonly { layer: number; tokens: number; reads: readonly number[] }[]) => ({
  ...plainReport(),
  engine: { name: "llama.cpp", experts },
});

test("experts are told with how many a token reads, in how many tokens they were seen, and the share of each", () => {
  const one = { layer: 1, tokens: 200, reads: [50, 100, 150, 100] };
  expect(expertsText(withExperts(one))).toBe(
    "2 of 4 for a token, 200 tokens seen in 1 layer, each by 25 to 75 % of them",
  );
  const other = { layer: 2, tokens: 100, reads: [0, 100, 100, 0] };
  expect(expertsText(withExperts(one, other))).toBe(
    "2 of 4 for a token, 100 to 200 tokens seen in 2 layers, each by 0 to 100 % of them, 2 of 8 never",
  );
});

test("a model without experts, and one of which no token was seen, has no line for them", () => {
  expect(expertsText(plainReport())).toBeNull();
  expect(expertsText(withExperts({ layer: 0, tokens: 0, reads: [0, 0] }))).toBeNull();
});

import { expect, test } from "bun:test";
import { renderAnswer } from "../../../src/report/answer.ts";
import { renderRun } from "../../../src/report/table.ts";
import { demoReport } from "../../fixtures/run-report.ts";

const terminal = { width: 120, color: false, unicode: true };

test("the figures by budget stand in the report where that was asked for, and those that differ are marked", () => {
  const ends = (value: number) => ({ value, lo: 0.9 * value, hi: 1.1 * value });
  const figureAt = (metric: string, differs: boolean) => ({
    metric,
    region_type: "weight",
    mapping_kind: null,
    phase: "generation",
    unit: "bytes/s",
    whole: { ...ends(2 ** 30), n: 90 },
    reduced: { ...ends(1.5 * 2 ** 30), n: 80 },
    difference: { value: -(2 ** 29), lo: -(2 ** 29.5), hi: differs ? -(2 ** 28) : 2 ** 28 },
    differs,
    unwatched: ends(2 ** 30.7),
  });
  const figures = [figureAt("read_bytes_per_s", true), figureAt("write_bytes_per_s", false)];
  const invariance = { whole_pct: 1, reduced_pct: 0.25, turns: 24, figures, untold: 3 };
  const text = renderRun(demoReport({ invariance }), terminal);
  expect(text).toMatch(/weight read_bytes_per_s .*-0\.500 GiB\/s \[-0\.708, -0\.250\] differs/);
  expect(text).toMatch(/weight write_bytes_per_s .*-0\.500 GiB\/s \[-0\.708, 0\.250\] +1\.62 GiB/);
  expect(text).toContain(
    "1 of 2 figures differ with the budget, of which there were 24 turns: weight read_bytes_per_s",
  );
  const answer = renderAnswer(demoReport({ invariance }), terminal);
  expect(answer).toContain(
    "\nwatching   1 of 2 figures differ with the budget, of which there were 24 turns: weight read_",
  );
  expect(answer.trimEnd().split("\n").length).toBeLessThanOrEqual(24);
  for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
});

import { describe, expect, test } from "bun:test";
import { renderAnswer } from "../../../src/report/answer.ts";
import { answerOfRun } from "../../../src/report/page/answer-section.ts";
import { countIds } from "../../../src/report/page/figure-button.ts";
import { figuresOfRun } from "../../../src/report/page/figures-section.ts";
import { renderRun } from "../../../src/report/table.ts";
import { demoReport } from "../../fixtures/run-report.ts";

const wide = { width: 160, color: false, unicode: true };
const known = demoReport();
const guessed = demoReport({
  labels: known.labels.map((label) =>
    label.region_type === "weight" ? { ...label, guessed_bytes: 100_000_000n } : label,
  ),
});
const headsOf = (markup: string) => [...markup.matchAll(/<th scope="col">(.*?)<\/th>/g)].map(([, head]) => head);

describe("a class that rests on a guess", () => {
  test("has a question mark at its name in the answer and in the table, which says how much of it", () => {
    for (const text of [renderAnswer(guessed, wide), renderRun(guessed, wide)]) {
      expect(text).toMatch(/ weight \? +kv_cache +activation +runtime/);
    }
    expect(renderRun(guessed, wide)).toMatch(/of it by a guess +95\.4 MiB +- +- +-/);
  });

  test("says so at the head of its columns on the page, and the others do not", () => {
    for (const { markup } of [answerOfRun(guessed, countIds("why")), figuresOfRun(guessed, countIds("why"))]) {
      const heads = headsOf(markup);
      expect(heads.filter((head) => head?.includes("by a guess")).length).toBeGreaterThan(0);
      expect(heads.filter((head) => head?.includes("by a guess")).every((head) => head?.includes("weight"))).toBe(true);
    }
  });

  test("is no word where every label has evidence", () => {
    const markup = answerOfRun(known, countIds("why")).markup + figuresOfRun(known, countIds("why")).markup;
    expect(renderAnswer(known, wide) + renderRun(known, wide) + markup).not.toMatch(/guess|weight \?/);
  });
});

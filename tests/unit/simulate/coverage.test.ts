import { expect, test } from "bun:test";
import { answerOf, summary } from "../../../src/simulate/coverage.ts";
import { rowWith } from "../../fixtures/row-with.ts";

test("the most frequent reason is counted without the numbers of each run, and told with those of one", () => {
  const said = (why: string) =>
    answerOf({ ...rowWith("metrics", { status: "insufficient", why }), n: 9, n_censored: 0, window_ns: 0 }, null);
  const answers = [
    ...[said("99 % censored"), said("3 of 310 watched addresses show one"), said("99 % censored")],
    ...[said("5 of 287 watched addresses show one"), said("1.5 of 9 watched addresses show one")],
  ];
  expect(summary("w", answers)[0]?.why).toBe("3 of 310 watched addresses show one");
});

/** Times since a write as figures: one of which no end is known is none. */
import { expect, test } from "bun:test";
import { rowOf } from "../../../../src/analyse/figures/figure-row.ts";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import { RETENTION } from "../../../../src/analyse/metrics/retention.ts";
import { epochFigures } from "../../../../src/analyse/watched/epoch-quantiles.ts";
import { BUSIER } from "../../../../src/analyse/watched/rate/busier-bytes.ts";
import { type Interval, interval } from "../../../../src/statistics/interval.ts";
import { input, MS, region, watch } from "../sample-input.ts";

const watches = Array.from({ length: 200 }, (_, i) =>
  watch(
    [
      [i * 5 * MS + MS, "store"],
      [i * 5 * MS + 2 * MS, "load"],
      [i * 5 * MS + 3 * MS, "store"],
    ],
    { watch_id: i + 1, begin_ns: i * 5 * MS, end_ns: i * 5 * MS + 5 * MS },
  ),
);

/** The row of a quantile that the watches tell so. */
function row(estimate: Interval) {
  const [group] = groupsOf(input({ watches, regions: [region()] }));
  if (group === undefined) throw new Error("the input has no group");
  const counts = { n: 100, n_censored: 0, censored: 0, untold: null, carrying: 100, undrawn: 0, busier: 1 };
  const seen = { estimates: [estimate], shortest: [estimate], ...counts };
  const quantiles = RETENTION.quantiles.slice(0, 1);
  const [figure] = epochFigures(group, { ...RETENTION, quantiles, ofWatch: () => seen }).filter(
    ({ source }) => source === "watch",
  );
  if (figure === undefined) throw new Error("there is no figure");
  return rowOf(group, figure, "ns");
}

test("a time with both ends is a value, and one with neither is none, and says why", () => {
  expect(row(interval(50 * MS, 40 * MS, 60 * MS))).toMatchObject({ status: "ok", value: 50 * MS });
  expect(row(interval(50 * MS, null, null))).toMatchObject({ status: "insufficient", value: null, why: BUSIER });
});

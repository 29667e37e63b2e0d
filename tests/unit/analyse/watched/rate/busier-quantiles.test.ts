import { describe, expect, test } from "bun:test";
import { quantilesWithBusier } from "../../../../../src/analyse/watched/rate/busier-quantiles.ts";
import { type Interval, interval } from "../../../../../src/statistics/interval.ts";

/** Lower ends that fall as more was not drawn; only the first quantile has an upper end. */
const quantilesOf = (undrawn: number): Interval[] => [interval(5, 4 - undrawn, 6), interval(null, 8 - undrawn, null)];

describe("quantiles of times where busier bytes may be undrawn", () => {
  test("allow for these in the lower end of one that has no upper end, and of no other", () => {
    expect(quantilesWithBusier(quantilesOf, 1, () => 2)).toEqual({
      estimates: [interval(5, 3, 6), interval(null, 5, null)],
      busier: 2,
    });
  });

  test("do not ask how many these are where each has both ends", () => {
    const closed = (): Interval[] => [interval(5, 4, 6)];
    const asked = quantilesWithBusier(closed, 0, () => {
      throw new Error("asked");
    });
    expect(asked).toEqual({ estimates: [interval(5, 4, 6)], busier: 0 });
  });
});

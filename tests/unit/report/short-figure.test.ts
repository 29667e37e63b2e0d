import { expect, test } from "bun:test";
import { shortFigure } from "../../../src/report/short-figure.ts";

const textOf = (value: number, lo: number, hi: number): string =>
  shortFigure({ metric: "iai_p50_ns", unit: "ns", value, lo, hi, status: "ok", label: null })
    .map(({ text }) => text)
    .join("");

test("the reach of an interval is that from the value that is printed", () => {
  // 1.00 ms and 1 % of it end below 1.014 ms.
  expect(textOf(1.0045e6, 0.998e6, 1.014e6)).toBe("1.00 ms ±2%");
  expect(textOf(1e6, 0.99e6, 1.01e6)).toBe("1.00 ms ±1%");
});

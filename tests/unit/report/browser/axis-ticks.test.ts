import { describe, expect, test } from "bun:test";
import { logTicks } from "../../../../src/report/browser/axis-ticks.ts";
import { valueText } from "../../../../src/report/browser/curve-points.ts";

const words = (low: number, high: number, unit: string, most = 7): string[] =>
  logTicks(low, high, unit, most).map((tick) => valueText(tick, unit));

describe("the ticks of a logarithmic axis", () => {
  test("are powers of ten, of bytes powers of two", () => {
    expect(words(2, 2e5, "accesses")).toEqual(["10", "100", "1000", "10.0k", "100k"]);
    expect(words(3000, 70_000, "bytes")).toEqual(["4.00 KiB", "8.00 KiB", "16.0 KiB", "32.0 KiB", "64.0 KiB"]);
  });

  test("are times that people count in where they go beyond an hour", () => {
    expect(words(1e4, 4e8, "ns")).toEqual(["10.0 us", "100 us", "1.00 ms", "10.0 ms", "100 ms"]);
    expect(words(6.4e6, 2.5e18, "ns", 9)).toEqual([
      "10.0 ms",
      "1.00 s",
      "60.0 s",
      "60.0 min",
      "24.0 h",
      "30.0 days",
      "10.0 years",
    ]);
  });

  test("are as few as there is room for", () => {
    expect(words(6.4e6, 2.5e18, "ns", 4)).toEqual(["10.0 ms", "10.0 s", "24.0 h", "10.0 years"]);
    expect(words(2, 2e5, "accesses", 3)).toEqual(["10", "1000", "100k"]);
  });

  test("are the ends of a span that holds no power", () => {
    expect(logTicks(2, 8, "accesses", 7)).toEqual([2, 8]);
  });
});

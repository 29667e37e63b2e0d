import { expect, test } from "bun:test";
import { MrmTraceError } from "../../src/errors.ts";
import {
  byteScale,
  formatBytes,
  formatCount,
  formatIn,
  formatNs,
  nsScale,
  parseDurationNs,
  parseSizeBytes,
} from "../../src/units.ts";

test("figures keep three significant digits in the unit that suits them", () => {
  expect([0, 1, 1023, 1024, 1536, 2 ** 30, 5 * 2 ** 40].map(formatBytes)).toEqual([
    "0 B",
    "1 B",
    "1023 B",
    "1.00 KiB",
    "1.50 KiB",
    "1.00 GiB",
    "5.00 TiB",
  ]);
  expect([0, 12, 4470, 4.47e6, 28.1e9, 180e9, 3 * 3600e9].map(formatNs)).toEqual([
    "0 ns",
    "12.0 ns",
    "4.47 us",
    "4.47 ms",
    "28.1 s",
    "3.00 min",
    "3.00 h",
  ]);
  expect([0, 3, 9999, 12_345, 2.5e6, 3e9, 0.5, 0.00012, 0.0000123].map(formatCount)).toEqual([
    "0",
    "3",
    "9999",
    "12.3k",
    "2.50M",
    "3.00G",
    "0.500",
    "1.20e-4",
    "1.23e-5",
  ]);
});

test("the ends of an interval are written in the unit of its value", () => {
  const scale = nsScale(1.2e6);
  expect([0.9e6, 1.5e9].map((ns) => formatIn(ns, scale))).toEqual(["0.900", "1500"]);
  expect([1.53e-53, -1.53e-53].map((bytes) => formatIn(bytes, byteScale(151e3)))).toEqual(["0", "0"]);
});

test("durations and sizes are read with their unit and refused without a known one", () => {
  expect(["500ms", "2s", "1h"].map(parseDurationNs)).toEqual([5e8, 2e9, 3.6e12]);
  expect(["64MB", "1GiB", "4096B"].map(parseSizeBytes)).toEqual([64e6, 2 ** 30, 4096]);
  expect(() => parseDurationNs("5 parsecs")).toThrow(MrmTraceError);
  expect(() => parseSizeBytes("")).toThrow(MrmTraceError);
});

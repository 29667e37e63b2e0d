import { expect, test } from "bun:test";
import { MrmTraceError } from "../../src/errors.ts";
import {
  byteScale,
  formatBytes,
  formatCount,
  formatIn,
  formatNs,
  nsScale,
  parseBytesPerSecond,
  parseDurationNs,
  parseEnergyPjPerByte,
  parseSizeBytes,
  smallScale,
  yearScale,
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

test("rates and energies are read with their unit, per byte or per bit, and refused without", () => {
  expect(["25.6GB/s", "64GiB/s", "1kb/s"].map(parseBytesPerSecond)).toEqual([25.6e9, 64 * 2 ** 30, 1e3]);
  expect(["3.97pJ/bit", "1nJ/byte", "500fJ/bit"].map(parseEnergyPjPerByte)).toEqual([31.76, 1e3, 4]);
  for (const text of ["25.6GB", "25.6/s", "1GB/min", "5"])
    expect(() => parseBytesPerSecond(text)).toThrow(MrmTraceError);
  for (const text of ["4pJ", "4J/bit", "pJ/bit"]) expect(() => parseEnergyPjPerByte(text)).toThrow(MrmTraceError);
  expect(() => parseSizeBytes("64MB/s")).toThrow(MrmTraceError);
});

test("small figures of energy and lives of devices have the unit that suits them", () => {
  const watts = (value: number): string => formatIn(value, smallScale(value, "W")) + smallScale(value, "W").unit;
  expect([0, 2.5, 0.0123, 4.5e-6, 3e-12, 2e-14, 12e3].map(watts)).toEqual([
    "0 W",
    "2.50 W",
    "12.3 mW",
    "4.50 uW",
    "3.00 pW",
    "0.0200 pW",
    "12.0 kW",
  ]);
  const life = (years: number): string => formatIn(years, yearScale(years)) + yearScale(years).unit;
  expect([1 / (365.25 * 24), 0.5, 3.644, 2050, 1e7].map(life)).toEqual([
    "60.0 min",
    "183 days",
    "3.64 years",
    "2050 years",
    "10.0M years",
  ]);
});

test("the ends of an interval are rounded away from each other, so that what is printed holds what they hold", () => {
  const ms = nsScale(1e6);
  expect([formatIn(1.2341e6, ms, "up"), formatIn(1.2349e6, ms, "down")]).toEqual(["1.24", "1.23"]);
  // What has no more digits stays as it is.
  expect([formatIn(4.4e6, ms, "up"), formatIn(4.4e6, ms, "down")]).toEqual(["4.40", "4.40"]);
  expect([formatIn(1023.2, byteScale(1), "up"), formatIn(1023.9, byteScale(1), "down")]).toEqual(["1024", "1023"]);
  // An upper end is never told as nothing, nor a lower one of a difference.
  expect([formatIn(1, nsScale(3600e9), "up"), formatIn(1, nsScale(3600e9), "down")]).toEqual(["1.00e-6", "0"]);
  expect([formatIn(-1.2341e6, ms, "down"), formatIn(-1.2349e6, ms, "up")]).toEqual(["-1.24", "-1.23"]);
});

/** The worked example of docs/report.md, and what a device file may leave open. */
import { describe, expect, test } from "bun:test";
import { readDevice } from "../../../../src/config/device-file.ts";
import { deviceSchema, UNKNOWN } from "../../../../src/config/device-schema.ts";
import { bordersOf, presetBorders } from "../../../../src/report/page/data/device-borders.ts";

const device = (figures: Readonly<Record<string, unknown>>) =>
  bordersOf("mine", deviceSchema.parse({ name: "mine", ...figures }));

describe("the borders of a device among lifetimes and reads", () => {
  test("are its retention, and its bandwidth through its capacity", () => {
    const mine = device({
      capacity: { value: "64GB", source: "a data sheet" },
      bandwidth: { value: "25.6GB/s", source: "a standard", kind: "primary" },
      retention: { value: "64ms", source: "a book", kind: "secondary" },
    });
    expect(mine.retention_ns).toEqual([64e6, 64e6]);
    expect(mine.reads_per_s).toEqual([0.4, 0.4]);
    expect(mine.missing).toEqual([]);
    expect(mine.sources).toEqual([
      "retention: a book (second-hand)",
      "bandwidth: a standard",
      "capacity: a data sheet",
    ]);
  });

  test("take the bandwidth of reads where the file has it apart", () => {
    const shared = { capacity: { value: "2GB" }, bandwidth: { value: "10GB/s" } };
    expect(device({ ...shared, read_bandwidth: { value: "6GB/s" } }).reads_per_s).toEqual([3, 3]);
  });

  test("are ranges where the figures are, open where an end is not said", () => {
    expect(device({ retention: { from: "1h", to: "7d" } }).retention_ns).toEqual([3600e9, 7 * 86_400e9]);
    expect(device({ retention: { from: "10d" } }).retention_ns).toEqual([864_000e9, null]);
    const ranges = device({ capacity: { from: "1GB", to: "2GB" }, bandwidth: { from: "8GB/s", to: "10GB/s" } });
    expect(ranges.reads_per_s).toEqual([4, 10]);
    expect(device({ capacity: { to: "2GB" }, bandwidth: { from: "8GB/s" } }).reads_per_s).toEqual([4, null]);
    expect(device({ capacity: { from: "2GB" }, bandwidth: { from: "8GB/s" } }).reads_per_s).toBeNull();
  });

  test("are missing where the file lacks a figure, which is named", () => {
    const mine = device({ capacity: { value: "2GB" } });
    expect([mine.retention_ns, mine.reads_per_s]).toEqual([null, null]);
    expect(mine.missing).toEqual(["retention", "bandwidth"]);
  });

  test("of every preset rest on figures with a source", () => {
    const presets = presetBorders();
    expect(presets.length).toBeGreaterThan(5);
    for (const { preset, retention_ns, reads_per_s, sources } of presets) {
      const { retention } = readDevice(preset);
      expect(retention_ns === null).toBe(retention === UNKNOWN);
      expect(sources).toHaveLength((retention_ns === null ? 0 : 1) + (reads_per_s === null ? 0 : 2));
    }
  });
});

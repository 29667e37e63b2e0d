import { describe, expect, test } from "bun:test";
import {
  CELL,
  type HeatPlane,
  type HeatSums,
  heatSums,
  SEVERAL,
  TIME_BINS,
} from "../../../../src/label/trace/heat-sums.ts";
import { OP } from "../../../../src/schema/operation.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";

const WORD = 2 ** 32;

function load(heat: HeatSums, address: number, time_ns: number, pid = 1, region = 1): void {
  heat.add(0, 0, pid, region, address % WORD, Math.floor(address / WORD), time_ns, OP.load, 10);
}

/** One of the sums of a cell. */
const cellOf = ({ sums }: HeatPlane, name: keyof typeof CELL, place = 0, bin = 0): number =>
  sums[(place * TIME_BINS + bin) * CELL.size + CELL[name]] ?? Number.NaN;

/** That sum over all cells. */
const sumOf = ({ sums }: HeatPlane, name: keyof typeof CELL): number =>
  sums.reduce((sum, value, i) => (i % CELL.size === CELL[name] ? sum + value : sum), 0);

/** Rows by block and bin. */
function cellsOf(plane: HeatPlane): Map<string, number> {
  const { count, block, shift } = plane;
  const cells = new Map<string, number>();
  for (let place = 0; place < count; place++) {
    for (let bin = 0; bin < TIME_BINS; bin++) {
      const n = cellOf(plane, "rows", place, bin);
      if (n > 0) cells.set(`${(block[place] ?? 0) * 2 ** shift}/${bin}`, n);
    }
  }
  return cells;
}

describe("accesses by address and time", () => {
  test("stay in pages and bins of the first length where they are few", () => {
    const heat = heatSums(100);
    for (const [address, time] of [
      [0x1000, 0],
      [0x1fff, 99],
      [0x2000, 100],
      [0x7f00_0000_0000, 19_199],
    ] as const) {
      load(heat, address, time);
    }
    expect(heat.bin_ns).toBe(100);
    expect([...cellsOf(heat.planes[0] as HeatPlane)]).toEqual([
      [`${0x1000}/0`, 2],
      [`${0x2000}/1`, 1],
      [`${0x7f00_0000_0000}/191`, 1],
    ]);
  });

  test("lose none when blocks and bins double, and are what a count of the larger ones says", () => {
    const heat = heatSums(1);
    const random = seededRandom(9);
    const rows = Array.from({ length: 20_000 }, (_, i) => {
      const base = random() < 0.5 ? 0x5500_0000_0000 : 0x7f00_0000_0000;
      return [base + Math.floor(random() * 2 ** 30), i * 7] as const;
    });
    for (const [address, time] of rows) load(heat, address, time);
    const plane = heat.planes[0] as HeatPlane;
    expect(plane.count).toBeWithin(60, 129);
    expect(heat.bin_ns).toBe(1024);
    const counted = new Map<string, number>();
    for (const [address, time] of rows) {
      const size = 2 ** plane.shift;
      const key = `${Math.floor(address / size) * size}/${Math.floor(time / heat.bin_ns)}`;
      counted.set(key, (counted.get(key) ?? 0) + 1);
    }
    expect(new Map([...cellsOf(plane)].sort())).toEqual(new Map([...counted].sort()));
    expect(sumOf(plane, "loads")).toBe(200_000);
  });

  test("put processes together where there are too many of them", () => {
    const heat = heatSums(1000);
    for (let pid = 1; pid <= 200; pid++) load(heat, 0x1000, 0, pid, pid);
    const plane = heat.planes[0] as HeatPlane;
    expect([plane.count, plane.pid[0], plane.region[0], plane.shift]).toEqual([1, SEVERAL, SEVERAL, 12]);
    expect(cellOf(plane, "rows")).toBe(200);
  });

  test("keep one that reads and writes as both, and one of which neither is known as neither", () => {
    const heat = heatSums(1000);
    for (const op of [OP.load, OP.store, OP.load_store, OP.unknown]) heat.add(2, 1, 1, 7, 0x1000, 0, 5, op, 3);
    const plane = heat.planes[0] as HeatPlane;
    expect([plane.kind, plane.source, plane.region[0]]).toEqual([2, 1, 7]);
    const names = ["rows", "loads", "stores", "unknown"] as const;
    expect(names.map((name) => cellOf(plane, name))).toEqual([4, 6, 6, 3]);
  });

  test("have the time for which words were looked at, in the bins in which it lay", () => {
    const heat = heatSums(100);
    heat.watch(0, 0, 1, 0x1008, 50, 250);
    heat.watch(0, 0, 1, 0x1010, 200, 300);
    const plane = heat.planes[0] as HeatPlane;
    expect([0, 1, 2, 3].map((bin) => cellOf(plane, "watched_ns", 0, bin))).toEqual([50, 100, 150, 0]);
    expect(sumOf(plane, "rows")).toBe(0);
  });
});

import { describe, expect, test } from "bun:test";
import { cellCounter, READ, WRITE } from "../../../../src/report/page/data/heat-cells.ts";

const [ROWS, COLUMNS] = [512, 4096];
const sum = (values: Float32Array): number => values.reduce((a, b) => a + b, 0);

describe("the cells of the map of addresses", () => {
  test("are exact where accesses are few: reads and writes of each, by row and column", () => {
    const counter = cellCounter(ROWS, COLUMNS, 6);
    counter.add(7, 4095, READ);
    counter.add(0, 3, READ | WRITE);
    counter.add(7, 4095, READ);
    counter.add(0, 2, WRITE);
    // Of what is neither nobody can say what to draw.
    counter.add(9, 9, 0);
    const { cell_size, row, column, reads, writes } = counter.cells();
    expect([cell_size, [...row], [...column]]).toEqual([1, [0, 0, 7], [2, 3, 4095]]);
    expect([[...reads], [...writes]]).toEqual([
      [0, 1, 2],
      [1, 1, 0],
    ]);
  });

  test("become larger until few are left, and lose no access", () => {
    const accesses = 90_000;
    for (const expected of [accesses, 1_000_000]) {
      const counter = cellCounter(ROWS, COLUMNS, expected);
      for (let i = 0; i < accesses; i++) counter.add(i % ROWS, 20 * Math.floor(i / ROWS), i % 3 === 0 ? WRITE : READ);
      const { cell_size, row, column, reads, writes } = counter.cells();
      expect(row.length).toBeLessThanOrEqual(40_000);
      expect(cell_size).toBeGreaterThan(1);
      expect([sum(reads), sum(writes)]).toEqual([60_000, 30_000]);
      expect(Math.max(...row)).toBeLessThanOrEqual((ROWS - 1) / cell_size);
      expect(Math.max(...column)).toBeLessThanOrEqual((COLUMNS - 1) / cell_size);
    }
  });
});

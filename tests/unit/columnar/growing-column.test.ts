import { expect, test } from "bun:test";
import { float64Column, uint8Column, uint32Column, uint32List } from "../../../src/columnar/growing-column.ts";

test("a column has what was set, and 0 elsewhere, however far the rows lie apart", () => {
  for (const column of [float64Column(), uint32Column(), uint8Column()]) {
    column.set(3, 7);
    column.set(100_000, 9);
    expect([0, 3, 4, 99_999, 100_000, 5_000_000].map(column.get)).toEqual([0, 7, 0, 0, 9, 0]);
  }
});

test("a list has its values in order, across what is added at once", () => {
  const list = uint32List();
  for (let i = 0; i < 10_000; i++) list.push(2 * i);
  expect(list.length()).toBe(10_000);
  expect(list.values()).toEqual(Uint32Array.from({ length: 10_000 }, (_, i) => 2 * i));
});

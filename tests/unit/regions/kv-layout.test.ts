import { describe, expect, test } from "bun:test";
import {
  COLUMNS,
  cellAt,
  type KvLayout,
  type KvLayoutColumns,
  layoutColumns,
  layoutOf,
  ROWS,
  rowOffset,
  UNKNOWN_LAYOUT,
} from "../../../src/regions/kv-layout.ts";

const PAGED: KvLayout = { form: "paged", row_bytes: 64, block_tokens: 4, block_bytes: 320 };
const BLOCKS: KvLayout = { form: "blocks", row_bytes: 64, block_tokens: 4, block_bytes: 320 };
const place = (layout: KvLayout) => ({ layout, cells: 16, streams: 1, row_bytes: 64, element_bytes: 2 });

describe("the row of a cell", () => {
  test.each([
    ["rows", ROWS, 640],
    ["columns", COLUMNS, 20],
    ["paged", PAGED, 2 * 320 + 2 * 64],
    ["blocks", BLOCKS, null],
    ["unknown", UNKNOWN_LAYOUT, null],
  ] as const)("lies where %s put it", (_, layout, offset) => {
    expect(rowOffset(place(layout), 10)).toBe(offset);
  });

  test("is nowhere beyond the tensor, or where the cell is not known", () => {
    expect([rowOffset(place(ROWS), 16), rowOffset(place(ROWS), -1), rowOffset(place(PAGED), null)]).toEqual([
      null,
      null,
      null,
    ]);
  });

  test("is counted through the streams of a tensor, each of which keeps its rows as one alone would", () => {
    const split = (layout: KvLayout) => ({ ...place(layout), streams: 2 });
    expect([rowOffset(split(ROWS), 20), rowOffset(split(COLUMNS), 20)]).toEqual([20 * 64, 16 * 64 + 4 * 2]);
    expect([rowOffset(split(ROWS), 32), cellAt(split(ROWS), 20 * 64)]).toEqual([null, 20]);
  });

  test("is found again from each of its bytes, and bytes between blocks belong to none", () => {
    for (const layout of [ROWS, PAGED]) {
      for (let cell = 0; cell < 16; cell++) {
        const begin = rowOffset(place(layout), cell) ?? -1;
        expect([begin, begin + 63].map((offset) => cellAt(place(layout), offset))).toEqual([cell, cell]);
      }
    }
    expect([256, 319].map((offset) => cellAt(place(PAGED), offset))).toEqual([null, null]);
    expect([COLUMNS, BLOCKS, UNKNOWN_LAYOUT].map((layout) => cellAt(place(layout), 0))).toEqual([null, null, null]);
    expect([-1, 1024].map((offset) => cellAt(place(ROWS), offset))).toEqual([null, null]);
  });
});

describe("a layout in columns of the tensor stream", () => {
  test.each([[ROWS], [COLUMNS], [PAGED], [BLOCKS], [UNKNOWN_LAYOUT], [null]])("comes back: %o", (layout) => {
    expect(layoutOf(layoutColumns(layout))).toEqual(layout);
  });

  test("is unknown where the columns are none of ours", () => {
    const none = layoutColumns(null);
    const doubtful: KvLayoutColumns[] = [
      { ...none, kv_layout: "spiral" as "rows" },
      { ...none, kv_layout: "paged" },
      { ...layoutColumns(PAGED), kv_block_bytes: 255 },
    ];
    for (const columns of doubtful) {
      expect(layoutOf(columns)).toEqual(UNKNOWN_LAYOUT);
    }
  });
});

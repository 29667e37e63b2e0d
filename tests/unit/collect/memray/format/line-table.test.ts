import { describe, expect, test } from "bun:test";
import { lineOf } from "../../../../../src/collect/memray/format/line-table.ts";

const V311 = 0x030b02f0;
const V310 = 0x030a00f0;
const V309 = 0x030900f0;

describe("the line of an instruction", () => {
  test("follows short, one-line, column-less and long entries of Python 3.11", () => {
    const table = Uint8Array.from([
      0x80 | (10 << 3) | 1, // 2 units on the first line
      0,
      0,
      0x80 | (12 << 3), // 1 unit two lines on
      0,
      0,
      0x80 | (13 << 3), // 1 unit, one line back
      3,
      0x80 | (14 << 3), // 1 unit, 40 lines on: 80 takes two sixes
      0x40 | 16,
      1,
      0,
      0,
      0,
      0x80 | (2 << 3), // 1 unit on the same line
      0,
      0x80 | (15 << 3), // 1 unit without a place
    ]);
    const lines = [0, 2, 4, 6, 8, 10].map((instruction) => lineOf(table, instruction, 100, V311));
    expect(lines).toEqual([100, 100, 102, 101, 141, 141]);
    expect(lineOf(table, 14, 100, V311)).toBeNull();
  });

  test("follows pairs of steps in Python 3.10 and before", () => {
    expect([0, 1, 2, 3].map((i) => lineOf(Uint8Array.from([4, 1, 2, 255, 2, 128]), i, 10, V310))).toEqual([
      11, 11, 10, 10,
    ]);
    expect([0, 3, 4, 9].map((i) => lineOf(Uint8Array.from([4, 1, 5, 3]), i, 10, V309))).toEqual([10, 10, 11, 14]);
  });

  test("is the first line without a table, and none for an instruction or a table that cannot be", () => {
    expect(lineOf(new Uint8Array(0), 7, 12, V311)).toBe(12);
    expect(lineOf(Uint8Array.from([0x80]), -1, 12, V311)).toBeNull();
    expect(lineOf(Uint8Array.from([0, 1, 2]), 2, 12, V311)).toBeNull();
    const endless = new Uint8Array(5000).fill(0xff);
    expect(lineOf(endless, 1e9, 1, V311)).toBeNull();
    expect(lineOf(Uint8Array.from([255, 127]), 0, -500, V310)).toBeNull();
  });
});

import { describe, expect, test } from "bun:test";
import { BLOCK_HEADER_BYTES, BLOCK_ROWS, ringLayout, ringTables } from "../../../src/schema/c-header.ts";
import { columnsOf, STREAMS, TABLES, type TableName } from "../../../src/schema/columns.ts";
import { balances, type LedgerRow } from "../../../src/schema/ledger.ts";

const tables = Object.keys(TABLES) as TableName[];

describe("the table of columns", () => {
  test("has every name once per table, in snake_case, with its meaning", () => {
    for (const table of tables) {
      const names = columnsOf(table).map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      for (const { name, doc } of columnsOf(table)) {
        expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
        expect(doc.length).toBeGreaterThan(3);
      }
    }
  });

  test("says the unit where a name says it", () => {
    const units: readonly (readonly [RegExp, RegExp])[] = [
      [/_ns$/, /ns/],
      [/_bytes$/, /bytes/],
      [/_pct$/, /%/],
      [/_pages$/, /pages/],
    ];
    for (const table of tables) {
      for (const { name, unit } of columnsOf(table)) {
        for (const [suffix, word] of units) if (suffix.test(name)) expect(`${name}: ${unit}`).toMatch(word);
      }
    }
  });

  test("has a time and a process in every stream, never null", () => {
    for (const stream of STREAMS) {
      expect(TABLES[stream].kind).toBe("capture");
      const required = columnsOf(stream).filter(({ nullable }) => !nullable);
      expect(required.map(({ name }) => name)).toEqual(expect.arrayContaining(["timestamp_ns", "pid"]));
    }
  });
});

describe("the block of a ring", () => {
  for (const table of ringTables()) {
    test(`of ${table} holds every ring column once, aligned, without overlap, behind its header`, () => {
      const { columns, blockBytes } = ringLayout(table);
      const expected = columnsOf(table).filter(({ ring }) => ring);
      expect(columns.map(({ name }) => name).sort()).toEqual(expected.map(({ name }) => name).sort());
      let end = BLOCK_HEADER_BYTES;
      for (const { offset, width } of columns) {
        expect([offset, offset % width]).toEqual([end, 0]);
        end = offset + width * BLOCK_ROWS;
      }
      expect(blockBytes).toBe(end);
      // Blocks follow each other in an array map, whose elements begin at multiples of 8.
      expect(blockBytes % 8).toBe(0);
    });
  }
});

describe("a row of the ledger", () => {
  const row: LedgerRow = {
    stream: "fault",
    source: "fault",
    stage: "ring",
    way: null,
    pid: null,
    seen: 10,
    kept: 6,
    filtered: 1,
    dropped: 3,
    dropped_by: { ring_full: 2, malformed: 1 },
    unseen_estimate: 5,
  };

  test("balances where what was seen was kept, filtered or dropped, and every drop has a cause", () => {
    expect(balances(row)).toBe(true);
    expect(balances({ ...row, seen: 11 })).toBe(false);
    expect(balances({ ...row, kept: 7 })).toBe(false);
    expect(balances({ ...row, dropped: 4, kept: 5 })).toBe(false);
    expect(balances({ ...row, dropped_by: {} })).toBe(false);
    expect(balances({ ...row, kept: Number.NaN })).toBe(false);
  });
});

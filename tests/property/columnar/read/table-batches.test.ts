/** Tables read back by the scan, beside what was written and what another reader gives. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { parquetBatches } from "../../../../src/columnar/arrow/parquet-batches.ts";
import { assertRefusal } from "../../../../src/columnar/read/refusal.ts";
import { tableBatches } from "../../../../src/columnar/read/table-batches.ts";
import { columnsOf, type TableName } from "../../../../src/schema/columns.ts";
import { PARQUET_SCHEMA_VERSION, SCHEMA_VERSION_KEY } from "../../../../src/schema/versions.ts";
import { sqlType } from "../../../../src/sql/table-sql.ts";
import { encodeParquet } from "../../../fixtures/encode-parquet.ts";
import { decodeParquet } from "../../../fixtures/parquet-by-wasm.ts";
import { sqlEngine } from "../../../fixtures/sql-engine.ts";
import { arbitraryBatch, plainRows, TABLE_NAMES } from "../arbitrary-batch.ts";

const engine = sqlEngine();
const path = join(engine.folder, "file.parquet");

function read(bytes: Uint8Array, table: TableName) {
  writeFileSync(path, bytes);
  return [...tableBatches(path, table)];
}

describe("a table through Parquet and the scan", () => {
  for (const table of TABLE_NAMES) {
    test(`keeps every row of ${table}, row group by row group, as the other reader gives them`, () => {
      fc.assert(
        fc.property(fc.array(arbitraryBatch(table, 40), { minLength: 1, maxLength: 3 }), (batches) => {
          const bytes = encodeParquet(table, batches);
          const rows = read(bytes, table).flatMap(plainRows);
          expect(rows).toEqual(batches.flatMap(plainRows));
          expect(rows).toEqual(plainRows(decodeParquet(bytes, "test")));
        }),
        { numRuns: 15 },
      );
    });
  }

  test("refuses a file of another table, of other types, or that lacks what the table requires", async () => {
    const [batch] = fc.sample(arbitraryBatch("fault", 9), { numRuns: 1, seed: 2 });
    const bytes = encodeParquet("fault", batch ? [batch] : []);
    expect(() => read(bytes, "access")).toThrow("it holds rows of fault");
    const metadata = `KV_METADATA {${SCHEMA_VERSION_KEY}: '${PARQUET_SCHEMA_VERSION}'}`;
    const copy = (select: string) =>
      engine.database.run(`COPY (SELECT ${select}) TO '${path}' (FORMAT parquet, COMPRESSION zstd, ${metadata})`);
    await copy("1 AS nothing");
    expect(() => [...tableBatches(path, "fault")]).toThrow("it has no column timestamp_ns");
    await copy("CAST(1 AS BIGINT) AS timestamp_ns");
    expect(() => [...tableBatches(path, "fault")]).toThrow("its column timestamp_ns is i64, not u64");
    await copy("CAST(NULL AS UBIGINT) AS timestamp_ns");
    expect(() => [...tableBatches(path, "fault")]).toThrow("timestamp_ns has rows without a value");
    await copy("TIMESTAMP '2026-01-01' AS timestamp_ns");
    expect(() => [...tableBatches(path, "fault")]).toThrow("its column timestamp_ns is of no type of ours, not u64");
  });

  test("reads what the SQL engine wrote of every table, and what it wrote in another encoding by the other reader", async () => {
    const metadata = `KV_METADATA {${SCHEMA_VERSION_KEY}: '${PARQUET_SCHEMA_VERSION}'}`;
    for (const table of TABLE_NAMES) {
      const columns = columnsOf(table).map((column) => {
        const sql = column.type === "string" ? "'word ' || i % 5" : column.type === "bool" ? "i % 3 = 0" : "i % 200";
        const value = `CAST(${sql} AS ${sqlType(column)})`;
        return `${column.nullable ? `CASE WHEN i % 7 = 0 THEN NULL ELSE ${value} END` : value} AS ${column.name}`;
      });
      const write = (codec: string, version: string) =>
        engine.database.run(
          `COPY (SELECT ${columns.join(", ")} FROM range(3000) t(i)) TO '${path}'
           (FORMAT parquet, COMPRESSION ${codec}, PARQUET_VERSION ${version}, ROW_GROUP_SIZE 2048, ${metadata})`,
        );
      await write("zstd", "V1");
      const own = [...tableBatches(path, table)].flatMap(plainRows);
      expect(own.length).toBe(3000);
      const arrow = (): string =>
        JSON.stringify(
          [...parquetBatches(path, table)].flatMap((b) => b.toArray()),
          shown,
        );
      const before = arrow();
      await write("snappy", "V2");
      expect(() => [...tableBatches(path, table)]).toThrow();
      expect([table, arrow() === before]).toEqual([table, true]);
    }
  });
});

const shown = (_key: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}n` : value);

test("a table with any bytes changed or cut is decoded or refused", () => {
  const tables: readonly TableName[] = ["process", "metrics", "mapping"];
  const files = tables.map((table) => ({
    table,
    bytes: encodeParquet(table, fc.sample(arbitraryBatch(table, 60), { numRuns: 2, seed: 5 })),
  }));
  const change = fc.record({
    file: fc.nat(files.length - 1),
    places: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)), { maxLength: 6 }),
    atEnd: fc.boolean(),
    cut: fc.oneof(fc.constant(0), fc.nat(60)),
  });
  let refused = 0;
  fc.assert(
    fc.property(change, ({ file, places, atEnd, cut }) => {
      const { table, bytes: whole } = files[file] ?? { table: "process" as const, bytes: new Uint8Array(0) };
      const bytes = whole.slice(0, whole.length - cut);
      const from = atEnd ? Math.max(0, bytes.length - 6000) : 0;
      for (const [place, byte] of places) bytes[from + Math.floor(place * (bytes.length - from - 1))] = byte;
      try {
        read(bytes, table);
      } catch (error) {
        assertRefusal(error);
        refused += 1;
      }
    }),
    { numRuns: 300 },
  );
  expect(refused).toBeGreaterThan(50);
});

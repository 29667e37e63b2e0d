import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { BATCH_ROWS, parquetBatches } from "../../../../src/columnar/arrow/parquet-batches.ts";
import { isStringColumn } from "../../../../src/columnar/batch.ts";
import { batchFromRows } from "../../../../src/columnar/rows.ts";
import { writeParquetFile } from "../../../../src/columnar/write/parquet-writer.ts";
import { encodeParquet } from "../../../fixtures/encode-parquet.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-batches-"));
afterAll(() => rmSync(folder, { recursive: true }));

const rows = Array.from({ length: 300 }, (_, i) => ({
  timestamp_ns: 1_000_000n + BigInt(i),
  address: 2n ** 63n + BigInt(i),
  ip: 7n,
  pid: 1,
  tid: 1,
  fault_flags: i % 4,
  cpu: 0,
}));
const whole = encodeParquet("fault", [batchFromRows("fault", rows)]);

/** Rows that a file of these bytes gives. @throws what reading throws */
function rowsOf(bytes: Uint8Array): bigint[] {
  const path = join(folder, "file.parquet");
  writeFileSync(path, bytes);
  const addresses: bigint[] = [];
  for (const batch of parquetBatches(path, "fault")) {
    for (const address of batch.getChild("address") ?? []) if (address !== null) addresses.push(address);
  }
  return addresses;
}

test("a whole file gives every row", () => {
  expect(rowsOf(whole)).toEqual(rows.map(({ address }) => address));
});

test("a file of more rows than a batch gives them all, in order", () => {
  const timestamp_ns = BigUint64Array.from({ length: BATCH_ROWS + 5 }, (_, i) => BigInt(i));
  const filled = batchFromRows("fault", rows.slice(0, 1));
  const columns = Object.fromEntries(
    Object.entries(filled.columns).map(([name, column]) => {
      if (isStringColumn(column)) throw new TypeError("a fault has no text");
      const data = new (column.data.constructor as typeof Uint32Array)(timestamp_ns.length);
      return [name, { data }];
    }),
  );
  const path = join(folder, "large.parquet");
  writeParquetFile(path, "fault", [
    { table: "fault", rows: timestamp_ns.length, columns: { ...columns, timestamp_ns: { data: timestamp_ns } } },
  ]);
  const found = [...parquetBatches(path, "fault")];
  expect(found.map((batch) => batch.numRows)).toEqual([BATCH_ROWS, 5]);
  expect(found[1]?.getChild("timestamp_ns")?.get(4)).toBe(BigInt(BATCH_ROWS + 4));
});

test("damaged bytes give rows or are refused by name, never anything else", () => {
  const change = fc.record({ at: fc.nat(whole.length - 1), to: fc.nat(255) });
  const damage = fc.record({ keep: fc.nat(whole.length), changes: fc.array(change, { maxLength: 8 }) });
  fc.assert(
    fc.property(damage, fc.boolean(), ({ keep, changes }, cut) => {
      const bytes = whole.slice(0, cut ? keep : whole.length);
      for (const { at, to } of changes) bytes[Math.min(at, bytes.length - 1)] = to;
      try {
        expect(rowsOf(bytes).length).toBeLessThanOrEqual(2 ** 24);
      } catch (error) {
        expect(String(error)).toMatch(/cannot read |has schema version/);
      }
    }),
    { numRuns: 300 },
  );
});

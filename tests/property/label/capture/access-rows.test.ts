/** Captured accesses as this package decodes them, beside what the SQL engine reads of the same segments. */
import { expect, test } from "bun:test";
import { truncateSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { writeParquetFile } from "../../../../src/columnar/write/parquet-writer.ts";
import {
  type AccessRows,
  accessRows,
  readAccessRows,
  sliceRows,
  type WordLists,
  wordLists,
} from "../../../../src/label/capture/access-rows.ts";
import { decodeAccessRows } from "../../../../src/label/capture/decode-access-rows.ts";
import type { TracePart } from "../../../../src/label/trace/trace-plan.ts";
import { sqlEngine } from "../../../fixtures/sql-engine.ts";
import { arbitraryBatch } from "../../columnar/arbitrary-batch.ts";

const engine = sqlEngine();
const { folder } = engine;

/** Rows as values, with the words that the facts name. */
function plain({ words, rows }: AccessRows, lists: WordLists): unknown[] {
  const all = sliceRows(words, 0, rows);
  return Array.from({ length: rows }, (_, row) => {
    const fact = all.facts[row] ?? 0;
    return {
      wide: [all.timestamp, all.address, all.ip, all.period, all.data_src].map((of) => [of[2 * row], of[2 * row + 1]]),
      narrow: [all.pid, all.tid, all.cpu, all.watch, all.weight].map((of) => of[row]),
      op: lists.ops[fact & 0xfff],
      source: lists.sources[(fact >>> 12) & 0xfff],
      has: fact >>> 24,
    };
  });
}

test("segments are decoded as the SQL engine reads them, whole or between two times", async () => {
  const given = fc.record({
    batches: fc.array(arbitraryBatch("access", 60), { minLength: 1, maxLength: 3 }),
    from: fc.option(fc.bigInt(0n, 2n ** 64n - 1n), { nil: null }),
    to: fc.option(fc.bigInt(0n, 2n ** 64n - 1n), { nil: null }),
    /** A bound that is the time of a row. */
    exact: fc.nat(100),
  });
  const [decoded, read] = [accessRows(), accessRows()];
  let rows = 0;
  await fc.assert(
    fc.asyncProperty(given, async ({ batches, from, to, exact }) => {
      const segments = batches.map((batch, i) => {
        const path = join(folder, `${i}.parquet`);
        writeParquetFile(path, "access", [batch]);
        return path;
      });
      const times = batches[0]?.columns.timestamp_ns;
      const of = times !== undefined && "data" in times ? times.data[exact] : undefined;
      const part: TracePart = {
        segments,
        complete: true,
        from_ns: from,
        to_ns: to !== null && typeof of === "bigint" ? of : to,
        most_rows: batches.reduce((sum, batch) => sum + batch.rows, 0),
      };
      const [ours, theirs] = [wordLists(), wordLists()];
      expect(decodeAccessRows(part, ours, decoded)).toBe(true);
      await readAccessRows(engine.database, part, theirs, read);
      expect(plain(decoded, ours)).toEqual(plain(read, theirs));
      rows += decoded.rows;
    }),
    // 2,000 rows in the mean, with a deviation of 220: with 60 runs, one test in eighty saw too few.
    { numRuns: 150 },
  );
  expect(rows).toBeGreaterThan(500);
}, 120_000);

test("a segment that was cut, or is none, is left to the SQL engine", () => {
  const batch = fc.sample(arbitraryBatch("access", 60), { numRuns: 1, seed: 5 })[0];
  if (batch === undefined) throw new Error("fast-check gave no sample");
  const path = join(folder, "cut.parquet");
  const bytes = writeParquetFile(path, "access", [batch]);
  const part: TracePart = { segments: [path], complete: true, from_ns: null, to_ns: null, most_rows: batch.rows };
  expect(decodeAccessRows(part, wordLists(), accessRows())).toBe(true);
  truncateSync(path, bytes - 3);
  expect(decodeAccessRows(part, wordLists(), accessRows())).toBe(false);
  expect(decodeAccessRows({ ...part, segments: [join(folder, "nothing")] }, wordLists(), accessRows())).toBe(false);
});

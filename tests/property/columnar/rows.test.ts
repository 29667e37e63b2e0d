import { expect, test } from "bun:test";
import fc from "fast-check";
import { batchFromRows, rowsFromBatch } from "../../../src/columnar/rows.ts";
import { arbitraryBatch, plainRows, TABLE_NAMES } from "./arbitrary-batch.ts";

test("the rows of a batch are those of the batch that is made of them, in every table", () => {
  for (const table of TABLE_NAMES) {
    fc.assert(
      fc.property(arbitraryBatch(table, 20), (batch) => {
        const rows = rowsFromBatch(batch);
        expect(plainRows(batchFromRows(table, rows))).toEqual(plainRows(batch));
      }),
      { numRuns: 10 },
    );
  }
});

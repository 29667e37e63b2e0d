import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { openAccumulator } from "../../../../src/columnar/segments/accumulator.ts";
import { encodeParquet } from "../../../fixtures/encode-parquet.ts";
import { decodeParquet } from "../../../fixtures/parquet-by-wasm.ts";
import { arbitraryBatch, plainRows, TABLE_NAMES } from "../arbitrary-batch.ts";

describe("a batch through Parquet and back", () => {
  for (const table of TABLE_NAMES) {
    test(`keeps every row of ${table}, nulls, extremes and empty strings included`, () => {
      fc.assert(
        fc.property(arbitraryBatch(table, 40), (batch) => {
          const read = decodeParquet(encodeParquet(table, [batch]), "test");
          expect(read.table).toBe(table);
          expect(plainRows(read)).toEqual(plainRows(batch));
        }),
        { numRuns: 25 },
      );
    });
  }

  test("keeps the rows of several batches in order", () => {
    fc.assert(
      fc.property(fc.array(arbitraryBatch("access", 20), { minLength: 1, maxLength: 4 }), (batches) => {
        const read = decodeParquet(encodeParquet("access", batches), "test");
        expect(plainRows(read)).toEqual(batches.flatMap(plainRows));
      }),
      { numRuns: 30 },
    );
  });
});

describe("the accumulator", () => {
  for (const table of ["mapping", "access", "process"] as const) {
    test(`gathers slices of batches of ${table} without changing a value, also into recycled arrays`, () => {
      const slices = fc.array(fc.tuple(arbitraryBatch(table, 30), fc.nat(30), fc.nat(30)), { maxLength: 5 });
      fc.assert(
        fc.property(slices, slices, (first, second) => {
          const gathered = openAccumulator(table);
          for (const round of [first, second]) {
            const expected = round.flatMap(([batch, a, b]) => {
              const from = Math.min(a, b, batch.rows);
              const to = Math.min(Math.max(a, b), batch.rows);
              gathered.append(batch, from, to);
              return plainRows(batch).slice(from, to);
            });
            expect(gathered.rows).toBe(expected.length);
            const taken = gathered.take();
            expect(plainRows(taken)).toEqual(expected);
            gathered.recycle(taken);
          }
        }),
        { numRuns: 40 },
      );
    });
  }
});

describe("hostile bytes", () => {
  const sample = fc.sample(arbitraryBatch("mapping", 40), { numRuns: 1, seed: 7 })[0];
  if (sample === undefined) throw new Error("fast-check gave no sample");
  const good = encodeParquet("mapping", [sample]);

  function mustBeJudged(bytes: Uint8Array): void {
    try {
      decodeParquet(bytes, "hostile");
    } catch (error) {
      expect(String(error)).toMatch(/cannot read hostile: |hostile has schema version/);
    }
  }

  test("that end early are refused at every length", () => {
    for (let length = 0; length < good.length; length += 97) {
      expect(() => decodeParquet(good.subarray(0, length), "short")).toThrow("cannot read short: ");
    }
  });

  test("with changed bytes anywhere are decoded or refused, and the decoder works afterwards", () => {
    const change = fc.tuple(fc.nat(good.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
        const bytes = good.slice();
        for (const [at, byte] of changes) bytes[at] = byte;
        mustBeJudged(bytes);
      }),
      { numRuns: 300 },
    );
    // The footer is where lengths and offsets are.
    const footerBytes = new DataView(good.buffer, good.byteOffset).getUint32(good.length - 8, true);
    const inFooter = fc.tuple(fc.integer({ min: good.length - 8 - footerBytes, max: good.length - 1 }), fc.nat(255));
    fc.assert(
      fc.property(fc.array(inFooter, { minLength: 1, maxLength: 4 }), (changes) => {
        const bytes = good.slice();
        for (const [at, byte] of changes) bytes[at] = byte;
        mustBeJudged(bytes);
      }),
      { numRuns: 300 },
    );
    expect(plainRows(decodeParquet(good, "good"))).toEqual(plainRows(sample));
  });

  test("that were never Parquet are refused", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(() => decodeParquet(bytes, "noise")).toThrow("cannot read noise: ");
      }),
    );
  });
});

import { expect, test } from "bun:test";
import { decodeLookup, decodeMatrix } from "../../../../src/engine/pytorch/tensor-impl.ts";
import { type LookupFields, lookupBytes } from "../../../fixtures/torch-structs.ts";

const TABLE = { sizes: [1000, 64], strides: [64, 1] };
const decode = (fields: Partial<LookupFields>) =>
  decodeLookup(new DataView(lookupBytes({ table: TABLE, indices: { sizes: [1, 16] }, ...fields }).buffer));

test("a lookup tells its table and as many tokens as it has indices", () => {
  const place = { addr: 0x7f00_0000_0000n, rows: 1000n, width: 64n, bytes: 256_000n };
  const table = { ...place, type: "f32", isDense: true, isInMemory: true };
  expect(decode({})).toEqual({ table, tokens: 16, sequences: 1 });
  expect(decode({ indices: { sizes: [4, 8] } })).toEqual({ table, tokens: 32, sequences: 4 });
  expect(decode({ indices: { sizes: [5], type: 3 } })).toEqual({ table, tokens: 5, sequences: null });
  // A half table behind 32 elements of the same storage.
  expect(decode({ table: { ...TABLE, type: 15, storageOffset: 32 } })).toMatchObject({
    table: { addr: 0x7f00_0000_0040n, bytes: 128_000n, type: "bf16" },
  });
});

test("a matrix is dense by rows or by columns, and in memory unless a device has it", () => {
  const matrix = (fields: Partial<LookupFields["table"]>) =>
    decodeMatrix(new DataView(lookupBytes({ table: { ...TABLE, ...fields }, indices: { sizes: [1] } }).buffer));
  expect(matrix({ strides: [1, 1000] })).toMatchObject({ isDense: true });
  expect(matrix({ strides: [128, 1] })).toMatchObject({ isDense: false });
  expect(matrix({ device: 1 })).toMatchObject({ isInMemory: false });
});

test("a table without memory is nowhere, as while a program is only traced", () => {
  expect(decode({ data: 0n })).toBe("nowhere");
});

test("bytes that contradict each other are refused", () => {
  const refused: Partial<LookupFields>[] = [
    { table: { sizes: [1000, 64], elements: 63_999 } },
    { table: { sizes: [1000] } },
    { table: { sizes: [10, 10, 10] } },
    { table: { sizes: [-1, 64], elements: -64 } },
    { table: { ...TABLE, type: 4 } },
    { table: { ...TABLE, storageOffset: -1 } },
    { indices: { sizes: [1, 16], type: 6 } },
    { indices: { sizes: [1, 2, 3, 4, 5, 6] } },
    { indices: { sizes: [2 ** 25] } },
    { bytes: 1000 * 64 * 4 - 1 },
  ];
  for (const fields of refused) expect(decode(fields)).toBeNull();
  expect(decode({ bytes: 1000 * 64 * 4 })).not.toBeNull();
});

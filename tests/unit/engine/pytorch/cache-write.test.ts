import { describe, expect, test } from "bun:test";
import { decodeCacheWrite } from "../../../../src/engine/pytorch/cache-write.ts";
import { type WriteFields, writeBytes } from "../../../fixtures/torch-writes.ts";

const [STRUCTURE, DATA] = [0x5600_0000_1000n, 0x7f00_0000_0000n];
const decode = (fields: Partial<WriteFields> = {}, dimension = 2n) =>
  decodeCacheWrite(
    new DataView(writeBytes({ structure: STRUCTURE, data: DATA, runs: [[7, 5]], ...fields }).buffer),
    dimension,
  );

describe("a write into a cache", () => {
  test("tells the cache, its storage, and the rows that follow each other", () => {
    const storage = { structure: STRUCTURE, head: 0x5000n, addr: DATA, size_bytes: 2n ** 20n };
    const shape = { sequences: 1, heads: 2, rows: 64, head_elements: 8 };
    const place = { storage, addr: DATA, size_bytes: 4096, type: "f32", element_bytes: 4 };
    expect(decode()).toEqual({ ...place, ...shape, first: 7, count: 5 });
    expect(decode({ type: 15, storageOffset: 32 }, BigInt.asUintN(64, -2n))).toMatchObject({
      ...{ addr: DATA + 64n, size_bytes: 2048, type: "bf16", element_bytes: 2 },
    });
  });

  test.each<[string, Partial<WriteFields>, bigint]>([
    ["along another dimension", {}, 1n],
    ["of another number of dimensions", { sizes: [2, 64, 8] }, 2n],
    ["into whole numbers", { type: 4 }, 2n],
    ["on a device", { device: 1 }, 2n],
    ["whose heads do not lie one behind the other", { strides: [1024, 8, 16, 1] }, 2n],
    [
      "of rows that do not follow each other",
      {
        runs: [
          [7, 2],
          [12, 3],
        ],
      },
      2n,
    ],
    ["of more rows than were copied", { numbers: 9 }, 2n],
    ["without rows", { runs: [] }, 2n],
  ])("%s is none into a cache", (_, fields, dimension) => {
    expect(decode(fields, dimension)).toBe("other");
  });

  test.each<[string, Partial<WriteFields>]>([
    ["more bytes than its storage", { storageBytes: 4095 }],
    ["another number of elements than its sizes give", { elements: 1000 }],
    ["rows behind its last", { runs: [[60, 5]] }],
    ["no memory", { data: 0n }],
    ["no storage", { structure: 0n }],
  ])("is refused with %s", (_, fields) => {
    expect(decode(fields)).toBeNull();
  });
});

import { describe, expect, test } from "bun:test";
import { decodeCacheAppend, decodeJoinedRest } from "../../../../src/engine/pytorch/cache-append.ts";
import { type AppendFields, appendBytes } from "../../../fixtures/torch-appends.ts";

const [BEFORE, STRUCTURE, DATA] = [0x5600_0000_1000n, 0x5600_0000_2000n, 0x7f00_0000_0000n];
const decode = (fields: Partial<AppendFields> = {}, dimension = 2n) =>
  decodeCacheAppend(
    new DataView(appendBytes({ before: BEFORE, structure: STRUCTURE, data: DATA, ...fields }).buffer),
    dimension,
  );

describe("rows that are put behind others", () => {
  test("tell what was there, where all of it lies now, and how many are new", () => {
    const storage = { structure: STRUCTURE, head: 0x5000n, addr: DATA, size_bytes: 2n ** 20n };
    const place = { storage, addr: DATA, size_bytes: 4096, type: "f32", element_bytes: 4 };
    const into = { ...place, sequences: 1, heads: 2, rows: 64, head_elements: 8 };
    expect(decode({ count: 5 })).toEqual({ before: { structure: BEFORE, rows: 59, from: 0 }, into, count: 5 });
  });

  test("tell how many rows in front are not kept, as where a layer looks back over a window", () => {
    expect(decode({ offset: 24 })).toMatchObject({ before: { rows: 63, from: 3 } });
  });

  test("begin a cache where nothing was there, whatever shape that had", () => {
    expect(decode({ before: null })).toMatchObject({ before: null, count: 64 });
    expect(decode({ sizesBefore: [1, 2, 0, 8] })).toMatchObject({ before: null, count: 64 });
  });

  test("are put behind two other tensors where most of a cache is kept elsewhere, in another form", () => {
    const restOf = (fields: Partial<AppendFields>, dimension = 2n) =>
      decodeJoinedRest(
        new DataView(appendBytes({ before: BEFORE, structure: STRUCTURE, data: DATA, ...fields }).buffer),
        dimension,
      );
    expect(restOf({ tensors: 3 })).toMatchObject({ sequences: 1, heads: 2, rows: 64, head_elements: 8, type: "f32" });
    for (const fields of [
      {},
      { tensors: 4 },
      { tensors: 3, type: 4 },
      { tensors: 3, data: 0n },
      { tensors: 3, kind: 1 },
    ])
      expect(restOf(fields)).toBeNull();
    expect(restOf({ tensors: 3 }, 3n)).toBeNull();
  });

  test.each<[string, Partial<AppendFields>, bigint]>([
    ["along another dimension", {}, 3n],
    ["of three tensors", { tensors: 3 }, 2n],
    ["in a list of another kind", { kind: 1 }, 2n],
    ["of another number of dimensions", { sizes: [2, 64, 8] }, 2n],
    ["of whole numbers", { type: 4 }, 2n],
    ["on a device", { device: 1 }, 2n],
    ["behind another number of heads", { sizesBefore: [1, 4, 63, 8] }, 2n],
    ["behind as many as are there afterwards", { sizesBefore: [1, 2, 64, 8] }, 2n],
    ["behind a part of a row", { offset: 4 }, 2n],
    ["behind a tensor of three dimensions", { sizesBefore: [2, 63, 8] }, 2n],
  ])("%s are none of a cache", (_, fields, dimension) => {
    expect(decode(fields, dimension)).toBe("other");
  });

  test.each<[string, Partial<AppendFields>]>([
    ["more bytes than the storage has", { storageBytes: 4095 }],
    ["another number of elements than the sizes give", { elements: 1000 }],
    ["no memory", { data: 0n }],
    ["no storage", { structure: 0n }],
  ])("are refused with %s", (_, fields) => {
    expect(decode(fields)).toBeNull();
  });
});

import { describe, expect, test } from "bun:test";
import { layerCache } from "../../../../src/engine/vllm/cache-tensor.ts";
import { attentionBytes, type CacheFields } from "../../../fixtures/vllm-structs.ts";

const cacheOf = (fields: CacheFields = {}) => layerCache(new DataView(attentionBytes(fields, null).buffer));
const ROOM = 32 * 64;
const DATA = 0x7f00_0000_0000n;

describe("the cache of a layer", () => {
  test("whose values lie behind the keys of each head is one piece of memory", () => {
    const blockBytes = 4 * ROOM * 4;
    const first = 16 * 4 * ROOM;
    expect(cacheOf({ keysAt: first })).toEqual({
      ...{ type: "f32", blocks: 16, block_tokens: 32, storage: { addr: DATA, size_bytes: 4 * 16 * blockBytes } },
      places: [
        {
          ...{ part: "kv", addr: DATA + BigInt(4 * first), size_bytes: 16 * blockBytes, elements: 256 },
          layout: { form: "blocks", row_bytes: 1024, block_tokens: 32, block_bytes: blockBytes },
        },
      ],
    });
  });

  test("whose values have blocks of their own is two, of half the rows", () => {
    const found = cacheOf({ strides: [2 * ROOM, ROOM], valuesAt: 16 * 2 * ROOM, type: 15, storageBytes: 2 ** 24 });
    expect(found?.type).toBe("bf16");
    expect(found?.places.map(({ part, addr, elements, layout }) => [part, addr, elements, layout.row_bytes])).toEqual([
      ["k", DATA, 128, 256],
      ["v", DATA + BigInt(16 * 2 * ROOM * 2), 128, 256],
    ]);
  });

  test.each([
    ["other dimensions", { dimensions: 3 }],
    ["another number of elements than its sizes give", { elements: 5 }],
    ["a type that is not known", { type: 4 }],
    ["no memory", { data: 0n }],
    ["a place before its storage", { keysAt: -1 }],
    ["more bytes than its storage", { storageBytes: 4096 }],
    ["heads that lie over each other", { strides: [4 * ROOM, 8] }],
    ["values that lie over the keys", { valuesAt: 8 }],
    ["values somewhere else", { valuesData: 1n }],
    ["blocks that no cache has", { blockTokens: 4096 }],
  ] as const)("is refused with %s", (_, fields) => {
    expect(cacheOf(fields)).toBeNull();
  });
});

import { describe, expect, test } from "bun:test";
import { rowsAhead } from "../../../../../src/collect/ebpf/watch/ahead.ts";
import type { KvHead, LiveTensor } from "../../../../../src/engine/engine.ts";
import { COLUMNS, ROWS, UNKNOWN_LAYOUT } from "../../../../../src/regions/kv-layout.ts";

const head: KvHead = { engine: "engine", pid: 1, context: 1n, next_row: 10, sequences: 1 };
function cache(kind: "k" | "v", changes: Partial<LiveTensor> = {}): LiveTensor {
  return {
    engine: "engine",
    pid: 1,
    name: `cache_${kind}_l0`,
    tensor_type: "f16",
    addr: 0x100000n,
    size_bytes: 512 * 256,
    ne: [128, 512, 1, 1],
    nb: [2, 256, 512 * 256, 512 * 256],
    region_type: "kv_cache",
    layer: 0,
    logical_id: `layer0.${kind}`,
    kv_layout: ROWS,
    drawn: true,
    ...changes,
  };
}

describe("the rows just ahead of the token axis", () => {
  test("are the eight after the next one, of every tensor that keeps them one after another", () => {
    const tensors = [cache("k"), cache("v")];
    expect(rowsAhead([head], tensors)).toEqual(
      ["k", "v"].map((kind) => ({
        pid: 1,
        addr: 0x100000n + 11n * 256n,
        size_bytes: 8 * 256,
        stratum: `kv_cache/${kind}`,
        region_type: "kv_cache",
        tensor: `cache_${kind}_l0`,
      })),
    );
    const paged = { form: "paged", row_bytes: 256, block_tokens: 16, block_bytes: 4096 } as const;
    for (const kv_layout of [COLUMNS, UNKNOWN_LAYOUT, paged, null]) {
      const [ahead, ...others] = rowsAhead([head], [cache("k"), cache("v", { kv_layout })]);
      expect([ahead?.stratum, others]).toEqual(["kv_cache/k", []]);
    }
  });
  test("end where the cache ends", () => {
    expect(rowsAhead([{ ...head, next_row: 508 }], [cache("k")])[0]?.size_bytes).toBe(3 * 256);
    expect(rowsAhead([{ ...head, next_row: 511 }], [cache("k")])).toEqual([]);
  });
  test("are none for several sequences, other processes, other engines, or sizes that do not add up", () => {
    expect(rowsAhead([{ ...head, sequences: 2 }], [cache("k")])).toEqual([]);
    expect(rowsAhead([{ ...head, pid: 2 }], [cache("k")])).toEqual([]);
    expect(rowsAhead([head], [cache("k", { engine: "another" })])).toEqual([]);
    expect(rowsAhead([head], [cache("k", { size_bytes: 12 * 256 })])).toEqual([]);
    expect(rowsAhead([head], [cache("k", { nb: [] })])).toEqual([]);
  });
});

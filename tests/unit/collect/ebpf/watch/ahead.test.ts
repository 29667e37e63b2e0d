import { describe, expect, test } from "bun:test";
import { rowsAhead } from "../../../../../src/collect/ebpf/watch/ahead.ts";
import type { KvHead, LiveTensor } from "../../../../../src/engine/engine.ts";

const head: KvHead = { pid: 1, context: 1n, next_row: 10, sequences: 1 };
function cache(kind: "k" | "v", changes: Partial<LiveTensor> = {}): LiveTensor {
  return {
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
    ...changes,
  };
}

describe("the rows just ahead of the token axis", () => {
  test("are the eight after the next one, of K, and of V where flash attention keeps its rows", () => {
    const tensors = [cache("k"), cache("v")];
    expect(rowsAhead([head], tensors, () => true)).toEqual(
      ["k", "v"].map((kind) => ({
        pid: 1,
        addr: 0x100000n + 11n * 256n,
        size_bytes: 8 * 256,
        stratum: `kv_cache/${kind}`,
        region_type: "kv_cache",
        tensor: `cache_${kind}_l0`,
      })),
    );
    for (const flash of [false, null]) {
      expect(rowsAhead([head], tensors, () => flash).map(({ stratum }) => stratum)).toEqual(["kv_cache/k"]);
    }
  });
  test("end where the cache ends", () => {
    expect(rowsAhead([{ ...head, next_row: 508 }], [cache("k")], () => true)[0]?.size_bytes).toBe(3 * 256);
    expect(rowsAhead([{ ...head, next_row: 511 }], [cache("k")], () => true)).toEqual([]);
  });
  test("are none for several sequences, other processes, other tensors, or sizes that do not add up", () => {
    expect(rowsAhead([{ ...head, sequences: 2 }], [cache("k")], () => true)).toEqual([]);
    expect(rowsAhead([{ ...head, pid: 2 }], [cache("k")], () => true)).toEqual([]);
    expect(rowsAhead([head], [cache("k", { region_type: "weight" })], () => true)).toEqual([]);
    expect(rowsAhead([head], [cache("k", { size_bytes: 12 * 256 })], () => true)).toEqual([]);
    expect(rowsAhead([head], [cache("k", { nb: [] })], () => true)).toEqual([]);
  });
});

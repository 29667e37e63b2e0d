import { describe, expect, test } from "bun:test";
import { decodeTensor } from "../../../../src/engine/llama-cpp/decode-tensor.ts";
import { GGML_LAYOUT } from "../../../../src/engine/llama-cpp/offsets.ts";
import { type TensorMap, tensorMap } from "../../../../src/engine/llama-cpp/placed-tensors.ts";
import { PROBE } from "../../../../src/engine/llama-cpp/probes.ts";
import type { RawRecord } from "../../../../src/engine/probing/raw-record.ts";
import { ROWS } from "../../../../src/regions/kv-layout.ts";
import {
  bufferBytes,
  olderBufferBytes,
  placedBytes,
  rawRecord,
  type TensorFields,
  tensorBytes,
} from "../../../fixtures/ggml-structs.ts";

const BASE = 0x7f0000000000n;
const HANDLE = 0x5000n;

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function alloc(addr: bigint, tensor: TensorFields, buffer = bufferBytes(BASE, 65536), unreadable = 0): RawRecord {
  const payload = placedBytes(buffer, tensorBytes(tensor));
  const args = [HANDLE, 0x6000n, addr];
  return rawRecord({ probe: PROBE.tensor_alloc, args, payload, unreadable });
}

/** The constructor's call and return: context in the argument that this machine's calling convention gives it. */
function construct(map: TensorMap, context: bigint, size: bigint, struct = bufferBytes(context, Number(size))) {
  const args = process.arch === "arm64" ? [1n, 2n, context, size] : [1n, context, size];
  map.bufferBegin(rawRecord({ probe: PROBE.buffer_init, args }));
  return map.bufferCreated(rawRecord({ probe: PROBE.buffer_init, isReturn: true, args: [HANDLE], payload: struct }));
}

function about(probe: number, args: bigint[] = [HANDLE], struct = bufferBytes(BASE, 65536)): RawRecord {
  return rawRecord({ probe, args, payload: struct });
}

describe("the tensor map of a process", () => {
  test("gives a row for a buffer, once, however many probes tell of it", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    expect(construct(map, BASE, 65536n)).toBe("kept");
    const payload = bufferBytes(BASE, 65536);
    const again = { probe: PROBE.buffer_alloc, isReturn: true, args: [HANDLE], payload };
    expect(map.bufferCreated(rawRecord(again))).toBe("duplicate");
    expect(map.takeRows()).toMatchObject([{ kind: "buffer", addr: BASE, size_bytes: 65536n, buffer: HANDLE }]);
    expect(map.takeRows()).toEqual([]);
  });

  test("believes the constructor's arguments over the bytes of a structure of unknown layout", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    expect(construct(map, BASE, 4096n, new Uint8Array(120).fill(0xee))).toBe("kept");
    expect(map.takeRows()).toMatchObject([{ addr: BASE, size_bytes: 4096n, usage: "any" }]);
  });

  test("places a tensor, and knows its class again when the buffer's usage comes later", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    construct(map, BASE, 65536n);
    expect(map.tensorAlloc(alloc(BASE + 64n, { name: "rope_factors" }))).toBe("kept");
    expect(map.live()).toMatchObject([
      { name: "rope_factors", addr: BASE + 64n, size_bytes: 16, region_type: "runtime" },
    ]);
    expect(map.bufferUsage(about(PROBE.buffer_usage, [HANDLE, 1n]))).toBe("kept");
    expect(map.live()).toMatchObject([{ region_type: "weight" }]);
    expect(map.takeRows().at(-1)).toMatchObject({ kind: "usage", usage: "weights", region_type: "weight" });
  });

  test("places the tensors of an older build, and knows its buffers again", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    const struct = olderBufferBytes(BASE, 65536, 1);
    expect(map.tensorAlloc(alloc(BASE + 64n, { name: "blk.0.attn_q.weight" }, struct))).toBe("kept");
    expect(map.live()).toMatchObject([{ addr: BASE + 64n, region_type: "weight" }]);
    expect(map.bufferFreed(about(PROBE.buffer_free, [HANDLE], struct))).toBe("kept");
    expect(map.live()).toEqual([]);
    expect(map.tensorAlloc(alloc(BASE + 2n ** 30n, {}, struct))).toBe("not_in_memory");
  });

  test("is settled after many tensors that were placed where they had been, until a buffer or a model comes", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    construct(map, BASE, 65536n);
    const place = (name: string) => map.tensorAlloc(alloc(BASE + 64n, { name }));
    place("one");
    for (let i = 0; i < 8191; i++) place("one");
    expect(map.isSettled()).toBe(false);
    place("one");
    expect(map.isSettled()).toBe(true);
    map.unsettle();
    for (let i = 0; i < 8192; i++) place(i === 0 ? "another" : "one");
    expect(map.isSettled()).toBe(false);
    place("one");
    expect(map.isSettled()).toBe(true);
    construct(map, BASE + 65536n, 4096n);
    expect(map.isSettled()).toBe(false);
  });

  test("knows the buffer of a tensor that was placed before anything else was seen, and tells no birth of it", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    expect(map.tensorAlloc(alloc(BASE, { name: "cache_k_l0" }))).toBe("kept");
    expect(map.takeRows()).toMatchObject([
      { kind: "tensor", region_type: "kv_cache", logical_id: "layer0.k", shape: "4x1x1x1", buffer_addr: BASE },
    ]);
  });

  test("keeps the last tensor of an address that several take", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    map.tensorAlloc(alloc(BASE, { name: "norm-0" }));
    map.tensorAlloc(alloc(BASE, { name: "norm-1" }));
    expect(map.live().map(({ name }) => name)).toEqual(["norm-1"]);
  });

  test("keeps all activations that take turns at an address, of those of one name the smallest and the largest", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    construct(map, BASE, 65536n);
    map.bufferUsage(about(PROBE.buffer_usage, [HANDLE, 2n]));
    for (const tokens of [4, 64, 16]) map.tensorAlloc(alloc(BASE, { name: "norm-0", ne: [tokens, 1, 1, 1] }));
    map.tensorAlloc(alloc(BASE, { name: "norm-1" }));
    expect(map.live().map(({ name, ne, region_type }) => [name, ne[0], region_type])).toEqual([
      ["norm-0", 4, "activation"],
      ["norm-0", 64, "activation"],
      ["norm-1", 4, "activation"],
    ]);
    map.bufferFreed(about(PROBE.buffer_free));
    expect(map.live()).toEqual([]);
  });

  test("closes all tensors of a freed buffer, and does not mistake its next life for the first", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    map.tensorAlloc(alloc(BASE, { name: "blk.0.a.weight" }));
    expect(map.bufferFreed(about(PROBE.buffer_free))).toBe("kept");
    expect(map.live()).toEqual([]);
    expect(construct(map, BASE, 65536n)).toBe("kept");
    expect(map.takeRows().map(({ kind }) => kind)).toEqual(["tensor", "free", "buffer"]);
  });

  test("makes no row of a simulated load, of an unreadable or implausible structure, or of memory elsewhere", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    const nothing = bufferBytes(0n, 0);
    expect(construct(map, 0n, 0n)).toBe("simulated");
    expect(map.tensorAlloc(alloc(BASE, {}, nothing))).toBe("simulated");
    expect(map.bufferFreed(about(PROBE.buffer_free, [HANDLE], nothing))).toBe("simulated");
    expect(map.bufferFreed(about(PROBE.buffer_free, [0n]))).toBe("null_handle");
    expect(map.tensorAlloc(alloc(BASE, {}, undefined, 0b01))).toBe("unreadable");
    expect(map.tensorAlloc(alloc(BASE, {}, undefined, 0b10))).toBe("unreadable");
    expect(map.tensorAlloc(alloc(BASE, {}, undefined, 0b100))).toBe("unreadable");
    expect(map.bufferUsage(about(PROBE.buffer_usage, [HANDLE, 9n]))).toBe("implausible");
    expect(map.takeRows()).toEqual([]);
    expect(map.tensorAlloc(alloc(BASE, { type: 77 }))).toBe("implausible");
    expect(map.tensorAlloc(alloc(BASE + 65536n, { ne: [400, 1, 1, 1] }))).toBe("not_in_memory");
    expect(map.takeRows()).toEqual([]);
  });

  test("tells how a cache keeps its rows again when a graph shows it, once, and of a tensor that is there", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    map.tensorAlloc(alloc(BASE, { name: "cache_v_l0" }));
    expect(map.takeRows()).toMatchObject([{ kind: "tensor", kv_layout: "unknown" }]);
    const decoded = decodeTensor(viewOf(tensorBytes({ name: "cache_v_l0", data: BASE, buffer: HANDLE })), GGML_LAYOUT);
    if (!decoded.ok) throw new Error(decoded.doubt);
    const found = { tensor: decoded.value, buffer: { addr: BASE, sizeBytes: 65536, usage: "any" } } as const;
    map.layOut(found, false, 9n, 8);
    map.layOut(found, false, 10n, 8);
    map.layOut({ ...found, tensor: { ...decoded.value, data: BASE + 64n } }, false, 11n, 8);
    const told = { kind: "layout", timestamp_ns: 9n, tid: 8, name: "cache_v_l0", addr: BASE, kv_layout: "columns" };
    expect(map.takeRows()).toMatchObject([{ ...told, evidence: "engine_graph", region_type: "kv_cache" }]);
    expect(map.live()).toMatchObject([{ kv_layout: { form: "columns" }, drawn: true, engine: "llama.cpp" }]);
  });

  test("tells once that the table of embeddings is the output matrix too, from when on it is drawn from", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    const name = "token_embd.weight";
    map.tensorAlloc(alloc(BASE, { name }));
    map.takeRows();
    expect(map.live().map(({ drawn }) => drawn)).toEqual([false]);
    const decoded = decodeTensor(viewOf(tensorBytes({ name, data: BASE, buffer: HANDLE })), GGML_LAYOUT);
    if (!decoded.ok) throw new Error(decoded.doubt);
    const found = { tensor: decoded.value, buffer: { addr: BASE, sizeBytes: 65536, usage: "weights" } } as const;
    map.tie({ ...found, tensor: { ...decoded.value, data: BASE + 64n } }, 8n, 8);
    map.tie(found, 9n, 8);
    map.tie(found, 10n, 8);
    const told = { kind: "tied", timestamp_ns: 9n, name: "output.weight", addr: BASE, region_type: "weight" };
    expect(map.takeRows()).toMatchObject([{ ...told, evidence: "engine_graph", logical_id: name }]);
    expect(map.live()).toMatchObject([{ name, drawn: true }]);
    expect(map.weights).toEqual({ bytes: 16, tensors: 1 });
  });

  test("counts the weights that were placed", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    map.tensorAlloc(alloc(BASE, { name: "blk.0.a.weight" }));
    map.tensorAlloc(alloc(BASE + 64n, { name: "blk.1.a.weight", ne: [8, 1, 1, 1] }));
    map.tensorAlloc(alloc(BASE + 128n, { name: "cache_k_l0" }));
    expect(map.weights).toEqual({ bytes: 48, tensors: 2 });
  });

  test("names a cache without a name by layer and part, once, whatever a later graph shows of it", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    const decoded = decodeTensor(
      viewOf(tensorBytes({ name: "leaf_7", ne: [8, 2, 64, 1], buffer: HANDLE, data: BASE })),
      GGML_LAYOUT,
    );
    if (!decoded.ok) throw new Error(decoded.doubt);
    const buffer = { addr: BASE, sizeBytes: 4096, usage: "any" } as const;
    const role = { layer: 3, part: "k", layout: ROWS, elements: 16, cells: 64 } as const;
    construct(map, BASE, 4096n);
    map.takeRows();
    const found = { tensor: decoded.value, buffer };
    expect(map.addFromGraph({ ...found, role }, 5n, 8)).toBe(true);
    expect([map.addFromGraph({ ...found, role }, 6n, 8), map.addFromGraph(found, 7n, 8)]).toEqual([false, false]);
    map.layOut({ ...found, role }, false, 8n, 8);
    expect(map.takeRows()).toMatchObject([
      {
        ...{ kind: "graph", name: null, region_type: "kv_cache", layer: 3, logical_id: "layer3.k" },
        ...{ shape: "16x64x1x1", kv_layout: "rows" },
      },
    ]);
    expect(map.live()).toMatchObject([{ region_type: "kv_cache", logical_id: "layer3.k", ne: [16, 64, 1, 1] }]);
    expect(map.cacheAt(BASE)).toEqual({ cells: 64, streams: 1 });
  });

  test("leaves out the buffers of what each graph is given, once it is told to, but for those that get a usage", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    map.passInputs(true);
    expect(construct(map, BASE, 4096n)).toBe("passing");
    const small = bufferBytes(BASE, 4096);
    expect(map.tensorAlloc(alloc(BASE, { name: "" }, small))).toBe("passing");
    expect(map.bufferFreed(about(PROBE.buffer_free, [HANDLE], small))).toBe("passing");
    expect(map.takeRows()).toEqual([]);
    expect(construct(map, BASE, 65536n)).toBe("passing");
    expect(map.bufferUsage(about(PROBE.buffer_usage, [HANDLE, 2n]))).toBe("kept");
    expect(map.tensorAlloc(alloc(BASE, { name: "Kcur-0" }, bufferBytes(BASE, 65536, 2)))).toBe("kept");
    expect(map.takeRows()).toMatchObject([{ kind: "usage", usage: "compute" }, { name: "Kcur-0" }]);
    const input = decodeTensor(viewOf(tensorBytes({ name: "leaf_1", buffer: 0x9000n, data: BASE })), GGML_LAYOUT);
    if (!input.ok) throw new Error(input.doubt);
    const found = { tensor: input.value, buffer: { addr: BASE, sizeBytes: 4096, usage: "any" } } as const;
    expect(map.addFromGraph(found, 5n, 8)).toBe(false);
    expect(map.takeRows()).toEqual([]);
    map.passInputs(false);
    expect(map.addFromGraph(found, 6n, 8)).toBe(true);
  });

  test("leaves out a load that is simulated in buffers that are said to have bytes, and lie nowhere", () => {
    const map = tensorMap(7, GGML_LAYOUT);
    const nowhere = bufferBytes(0n, 4096);
    expect(construct(map, 0n, 4096n)).toBe("simulated");
    const again = { probe: PROBE.buffer_alloc, isReturn: true, args: [HANDLE], payload: nowhere };
    expect(map.bufferCreated(rawRecord(again))).toBe("simulated");
    expect(map.tensorAlloc(alloc(32n, { name: "blk.0.attn_k.weight" }, nowhere))).toBe("simulated");
    expect(map.bufferUsage(about(PROBE.buffer_usage, [HANDLE, 1n], nowhere))).toBe("simulated");
    expect(map.bufferFreed(about(PROBE.buffer_free, [HANDLE], nowhere))).toBe("simulated");
    expect(construct(map, BASE, 65536n)).toBe("kept");
    expect(map.tensorAlloc(alloc(BASE, { name: "blk.0.attn_k.weight" }))).toBe("kept");
    expect(map.takeRows().map(({ kind, addr }) => [kind, addr])).toEqual([
      ["buffer", BASE],
      ["tensor", BASE],
    ]);
  });
});

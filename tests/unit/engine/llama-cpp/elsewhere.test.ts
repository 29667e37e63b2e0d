import { describe, expect, test } from "bun:test";
import { bufferBackends } from "../../../../src/engine/llama-cpp/buffer-backend.ts";
import { graphMemory, readGraph } from "../../../../src/engine/llama-cpp/graph-reader.ts";
import { GGML_LAYOUT } from "../../../../src/engine/llama-cpp/offsets.ts";
import { PROBE } from "../../../../src/engine/llama-cpp/probes.ts";
import { processState } from "../../../../src/engine/llama-cpp/process-state.ts";
import {
  bufferBytes,
  fakeMemory,
  graphBytes,
  placedBytes,
  rawRecord,
  tensorBytes,
} from "../../../fixtures/ggml-structs.ts";

/** Code of functions, and what lies there. */
const CODE = new Map([
  [0x7e00_0000_1000n, "/usr/lib/libggml-cuda.so"],
  [0x7e00_0000_2000n, "/usr/lib/libggml-base.so.0"],
  [0x7e00_0000_3000n, "/usr/lib/libggml-cpu-haswell.so"],
  [0x7e00_0000_4000n, "/usr/bin/llama-server"],
]);
const [CUDA = 0n, BASE = 0n, CPU = 0n, PROGRAM = 0n] = CODE.keys();
const HANDLE = 0x1_0020_0000n;
/** What a backend of its own keeps of a buffer, and an address of its card. */
const [CONTEXT, CARD] = [0x5600_0000_0000n, 0x7f3a_0000_0000n];

/** A buffer whose functions, but the first, are at `code`. */
function bufferOf(code: bigint, size: number, usage = 0): Uint8Array<ArrayBuffer> {
  const bytes = bufferBytes(CONTEXT, size, usage);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, CUDA, true);
  view.setBigUint64(8, code, true);
  return bytes;
}

function world(code: bigint, size = 1 << 20) {
  const memory = fakeMemory();
  memory.put(HANDLE, bufferOf(code, size));
  const state = processState(7, [], (_, addr) => CODE.get(addr) ?? null);
  return {
    memory,
    state,
    place(name: string, addr: bigint, ne = [64, 1, 1, 1]) {
      const payload = placedBytes(bufferOf(code, size), tensorBytes({ name, ne }));
      return state.take(rawRecord({ probe: PROBE.tensor_alloc, args: [HANDLE, 1n, addr], payload }));
    },
    use(usage: number) {
      return state.take(
        rawRecord({ probe: PROBE.buffer_usage, args: [HANDLE, BigInt(usage)], payload: bufferOf(code, size) }),
      );
    },
    free: () => state.take(rawRecord({ probe: PROBE.buffer_free, args: [HANDLE], payload: bufferOf(code, size) })),
    look: () => state.look(memory.read),
  };
}

describe("who keeps a buffer", () => {
  const backendOf = (code: bigint) => {
    const memory = fakeMemory();
    memory.put(HANDLE, bufferOf(code, 4096));
    return bufferBackends((addr) => CODE.get(addr) ?? null)(HANDLE, memory.read);
  };

  test("is told by the library that gives out its first address, not by the one that frees it", () => {
    expect(backendOf(CUDA)).toBe("cuda");
    expect([BASE, CPU].map(backendOf)).toEqual([null, null]);
  });

  test("is not told where its function lies in a program, in nothing, or cannot be read", () => {
    expect([PROGRAM, 0x1234n].map(backendOf)).toEqual([null, null]);
    expect(bufferBackends(() => "/usr/lib/libggml-cuda.so")(HANDLE, () => null)).toBeNull();
  });
});

describe("what another backend keeps", () => {
  test("is named with its bytes, in rows of a kind of its own: of weights and caches by tensor, of what graphs compute by buffer", () => {
    const { place, look, use, state } = world(CUDA);
    expect(place("blk.0.ffn_up.weight", CARD)).toBe("not_in_memory");
    look();
    expect(place("blk.1.ffn_up.weight", CARD + 4096n)).toBe("not_in_memory");
    expect(place("cache_k_l0", CARD + 8192n, [512, 1, 1, 1])).toBe("not_in_memory");
    expect(use(2)).toBe("not_in_memory");
    expect(state.takeRows().tensors).toMatchObject([
      { kind: "elsewhere", name: "blk.0.ffn_up.weight", region_type: "weight", addr: CARD, buffer: HANDLE },
      { kind: "elsewhere", name: "blk.1.ffn_up.weight", size_bytes: 256n, buffer_addr: null, evidence: "engine_probe" },
      { kind: "elsewhere", name: "cache_k_l0", region_type: "kv_cache", logical_id: "layer0.k", kv_layout: "unknown" },
    ]);
    expect(state.liveTensors()).toEqual([]);
    expect(state.untold?.()).toEqual([
      "not watched, in memory of the cuda backend: weights of 512 B (2 tensors), KV caches of 2.00 KiB (1 tensor), activations of 1.00 MiB",
    ]);
  });

  test("is not taken for memory of the process where an address of the card happens to be one of the buffer's", () => {
    const { place, look, state } = world(CUDA);
    expect(place("blk.0.ffn_up.weight", CONTEXT + 4096n)).toBe("kept");
    look();
    expect(state.takeRows().tensors).toMatchObject([{ kind: "elsewhere", addr: CONTEXT + 4096n }]);
    expect(state.liveTensors()).toEqual([]);
    expect(state.untold?.()).toEqual([expect.stringContaining("weights of 256 B (1 tensor)")]);
  });

  test("is still told when it was freed, and counted once when the same is loaded again", () => {
    const { place, look, free, state } = world(CUDA);
    for (let i = 0; i < 3; i++) {
      place("output.weight", CARD);
      look();
      expect(free()).toBe("not_in_memory");
    }
    expect(state.untold?.()).toEqual([expect.stringContaining("weights of 256 B (1 tensor)")]);
  });

  test("lets the probe of placed tensors rest once it tells nothing new", () => {
    const { place, look, state } = world(CUDA);
    place("output.weight", CARD);
    look();
    for (let i = 0; i < 10_000; i++) place("ffn_out-0", CARD + 64n);
    expect(state.isSettled()).toBe(true);
  });

  test("says nothing of a buffer of the CPU, whose tensors are where they were placed", () => {
    const { place, look, state } = world(CPU);
    expect(place("output.weight", CONTEXT + 64n)).toBe("kept");
    look();
    expect(state.takeRows().tensors).toMatchObject([{ name: "output.weight", addr: CONTEXT + 64n }]);
    expect(state.untold?.()).toEqual([]);
  });

  test("is found by a graph too, and refused there as outside of its buffer where nobody knows who keeps it", () => {
    const memory = fakeMemory();
    memory.put(HANDLE, bufferOf(CUDA, 1 << 20));
    const tensor = memory.put(0x1_0100_0000n, tensorBytes({ name: "output.weight", buffer: HANDLE, data: CARD }));
    const list = new DataView(new ArrayBuffer(8));
    list.setBigUint64(0, tensor, true);
    memory.put(0x1_0010_0000n, new Uint8Array(list.buffer));
    const head = new DataView(graphBytes({ tokens: 1 }).buffer);
    head.setInt32(4, 1, true);
    head.setBigUint64(16, 0x1_0010_0000n, true);
    const read = (backend: string | null) => readGraph(head, graphMemory(memory.read), GGML_LAYOUT, () => backend);
    expect(read("cuda")).toMatchObject({ tensors: [], elsewhere: [{ backend: "cuda" }], refused: {} });
    expect(read(null)).toMatchObject({ tensors: [], elsewhere: [], refused: { outside_buffer: 1 } });
  });
});

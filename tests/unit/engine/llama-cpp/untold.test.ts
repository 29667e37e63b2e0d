import { describe, expect, test } from "bun:test";
import { PROBE } from "../../../../src/engine/llama-cpp/probes.ts";
import { processState } from "../../../../src/engine/llama-cpp/process-state.ts";
import { bufferBytes, graphBytes, placedBytes, rawRecord, tensorBytes } from "../../../fixtures/ggml-structs.ts";

const BUFFER = 0x7f00_0000_0000n;
const HANDLE = 0x5000n;

/** A tensor that is placed; `moved` has its fields where no known build has them. */
function placing(name: string, moved = false) {
  const tensor = tensorBytes({ name });
  const buffer = bufferBytes(BUFFER, 1 << 20, 1);
  const payload = placedBytes(buffer, moved ? new Uint8Array([...tensor.slice(-8), ...tensor.slice(0, -8)]) : tensor);
  return rawRecord({ probe: PROBE.tensor_alloc, args: [HANDLE, 1n, BUFFER], payload });
}

/** Structures of ggml whose members are behind each other, all of them `shift` bytes farther than in no build. */
function definitionsOf(shift: number) {
  const members = (fields: Readonly<Record<string, number>>) => {
    let offset = shift;
    const placed = Object.entries(fields).map(([name, bytes]) => {
      const member = { offset, bytes };
      offset += Math.ceil(bytes / 8) * 8;
      return [name, member] as const;
    });
    return { bytes: offset, members: new Map(placed) };
  };
  const pointers = { view_src: 8, view_offs: 8, data: 8 };
  return new Map([
    ["ggml_tensor", members({ type: 4, buffer: 8, ne: 32, nb: 32, op: 4, src: 80, ...pointers, name: 64 })],
    ["ggml_backend_buffer", members({ context: 8, size: 8, usage: 4 })],
    ["ggml_cgraph", members({ n_nodes: 4, n_leafs: 4, nodes: 8, leafs: 8 })],
  ]);
}

describe("what cannot be told of a process", () => {
  test("is nothing where its tensors are believed, but for the experts of a mixture", () => {
    const state = processState(7, []);
    expect(state.take(placing("blk.0.ffn_up.weight"))).toBe("kept");
    expect(state.take(placing("blk.0.ffn_gate.weight", true))).not.toBe("kept");
    expect(state.untold?.()).toEqual([]);
    state.take(placing("blk.0.ffn_up_exps.weight"));
    expect(state.untold?.()).toEqual([expect.stringMatching(/^which experts of a mixture are read is not told: /)]);
  });

  test("is every tensor where a buffer that was handed bytes seems to have none, and why the debugging data was not taken", () => {
    const debugData = { ok: false, asked: ["ggml_tensor"], reason: "it is damaged" } as const;
    const state = processState(7, [{ soname: null, buildId: null, debugData }]);
    const init = { probe: PROBE.buffer_init, isReturn: false, args: [1n, BUFFER, 4096n] };
    const arm = { probe: PROBE.buffer_init, isReturn: false, args: [1n, 0n, BUFFER, 4096n] };
    state.take(rawRecord({ ...(process.arch === "arm64" ? arm : init), payload: new Uint8Array(0) }));
    const payload = bufferBytes(BUFFER, 0);
    state.take(rawRecord({ probe: PROBE.buffer_init, isReturn: true, args: [HANDLE], payload }));
    const placed = placedBytes(payload, tensorBytes({ name: "output.weight" }));
    const record = rawRecord({ probe: PROBE.tensor_alloc, args: [HANDLE, 1n, BUFFER], payload: placed });
    expect(state.take(record)).toBe("implausible");
    expect(state.untold?.()).toEqual([
      "no tensor is known: none of 1 that were placed is what the offsets of ggml-0.25 make of it, tried on this build, which is not known; its debugging data does not help: it is damaged",
    ]);
  });

  test("is what is computed between the parts of a graph, of which each is a step of Ollama's own engine", () => {
    const state = processState(7, []);
    const part = (layer: number) => {
      const place = { list: 0x7e00_0000_0000n + BigInt(80 * layer), cache: 0x5000n + BigInt(layer << 16) };
      const payload = graphBytes({ tokens: 1, ...place, cells: [[0, 1]] });
      state.take(rawRecord({ probe: PROBE.graph_compute, args: [1n], payload }));
      state.take(rawRecord({ probe: PROBE.graph_compute, args: [0n], isReturn: true }));
    };
    for (const layer of [0, 0]) part(layer);
    expect(state.untold?.()).toEqual([]);
    for (const layer of [0, 3]) part(layer);
    expect(state.untold?.()).toEqual([expect.stringContaining("rates inside of steps are above")]);
    // Graphs of a call that decodes had begun before its probes came.
    state.take(rawRecord({ probe: PROBE.decode, isReturn: true, args: [0n] }));
    expect(state.untold?.()).toEqual([]);
  });

  test("is what comes after a second library of ggml that is laid out differently", () => {
    const data = {
      ok: true,
      asked: ["ggml_tensor"],
      untold: null,
      path: null,
      ...{ structures: definitionsOf(8), enumerations: new Map([["ggml_op", new Map([["GGML_OP_GET_ROWS", 40]])]]) },
    } as const;
    const state = processState(7, [{ soname: null, buildId: null }]);
    expect(state.take(placing("blk.0.ffn_up.weight"))).toBe("kept");
    state.useBuild({ soname: null, buildId: null, debugData: data });
    expect(state.take(placing("blk.1.ffn_up.weight"))).toBe("implausible");
    expect(state.untold?.()).toEqual([
      "no more tensors are known: a process has two libraries of ggml whose structures are laid out differently",
    ]);
  });

  test("is every tensor of a build with other structures, in one line", () => {
    const state = processState(7, [{ soname: null, buildId: null }]);
    for (const name of ["blk.0.ffn_up.weight", "output.weight"]) state.take(placing(name, true));
    expect(state.untold?.()).toEqual([
      "no tensor is known: none of 2 that were placed is what the offsets of ggml-0.25 make of it, tried on this build, which is not known",
    ]);
  });
});

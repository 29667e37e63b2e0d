import { describe, expect, test } from "bun:test";
import { PROBE } from "../../../../src/engine/llama-cpp/probes.ts";
import { processState } from "../../../../src/engine/llama-cpp/process-state.ts";
import { bufferBytes, placedBytes, rawRecord, tensorBytes } from "../../../fixtures/ggml-structs.ts";

const BUFFER = 0x7f00_0000_0000n;
const HANDLE = 0x5000n;

/** A tensor that is placed; `moved` has its fields where no known build has them. */
function placing(name: string, moved = false) {
  const tensor = tensorBytes({ name });
  const buffer = bufferBytes(BUFFER, 1 << 20, 1);
  const payload = placedBytes(buffer, moved ? new Uint8Array([...tensor.slice(-8), ...tensor.slice(0, -8)]) : tensor);
  return rawRecord({ probe: PROBE.tensor_alloc, args: [HANDLE, 1n, BUFFER], payload });
}

describe("what cannot be told of a process", () => {
  test("is nothing where its tensors are believed, but for the experts of a mixture", () => {
    const state = processState(7, []);
    expect(state.take(placing("blk.0.ffn_up.weight"))).toBe("kept");
    expect(state.take(placing("blk.0.ffn_gate.weight", true))).not.toBe("kept");
    expect(state.untold?.()).toEqual([]);
    state.take(placing("blk.0.ffn_up_exps.weight"));
    expect(state.untold?.()).toEqual([expect.stringMatching(/^which experts of a mixture a step reads is not told: /)]);
  });

  test("is every tensor of a build with other structures, in one line", () => {
    const state = processState(7, [{ soname: null, buildId: null }]);
    for (const name of ["blk.0.ffn_up.weight", "output.weight"]) state.take(placing(name, true));
    expect(state.untold?.()).toEqual([
      "no tensor is known: none of 2 that were placed is what the offsets of ggml-0.25 make of it, tried on this build, which is not known",
    ]);
  });
});

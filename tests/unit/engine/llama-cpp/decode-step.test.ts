import { describe, expect, test } from "bun:test";
import { decodeBatch, decodeContextParams, decodePath } from "../../../../src/engine/llama-cpp/decode-step.ts";
import { chooseLayout } from "../../../../src/engine/llama-cpp/layout-choice.ts";
import { type BatchFields, batchBytes } from "../../../fixtures/ggml-structs.ts";

function batchOf(fields: BatchFields, unreadable = 0) {
  return decodeBatch(new DataView(batchBytes(fields).buffer), unreadable);
}

describe("a batch from its bytes", () => {
  test("has its tokens in runs, each of its sequences from a position on", () => {
    const runs = [[2, 10, 66] as const, [[0, 3], 4, 2] as const, [9000, 1, 1] as const];
    expect(batchOf({ tokens: 69, runs })).toEqual({
      n_tokens: 69,
      runs: [
        { sequences: [2], position: 10, tokens: 66, asking: null },
        { sequences: [0, 3], position: 4, tokens: 2, asking: null },
        { sequences: [9000], position: 1, tokens: 1, asking: null },
      ],
    });
  });

  test("leaves positions to the engine where it has none", () => {
    const run = { sequences: [0], position: null, tokens: 3, asking: null };
    expect(batchOf({ tokens: 3, hasPositions: false })?.runs).toEqual([run]);
  });

  test("says of each run how many of its last tokens ask for logits, where the batch has flags that were read", () => {
    const runs = [[0, 0, 64, 0] as const, [1, 9, 5, 1] as const, [2, 3, 4, 4] as const];
    expect(batchOf({ tokens: 73, runs })?.runs?.map(({ asking }) => asking)).toEqual([0, 1, 4]);
    expect(batchOf({ tokens: 3, runs: [[0, 0, 3, 4]] })?.runs).toBeNull();
  });

  test("does not claim what was not read: a long batch, a token of many sequences, a position that cannot be", () => {
    expect(batchOf({ tokens: 9000, held: 8192, runs: [[0, 0, 8192]] })).toEqual({ n_tokens: 9000, runs: null });
    expect(batchOf({ tokens: 2, runs: [[[1, 70], 0, 2]] })?.runs).toBeNull();
    expect(batchOf({ tokens: 2, runs: [[-1, 0, 2]] })?.runs).toBeNull();
    expect(batchOf({ tokens: 2, runs: [[0, -5, 2]] })?.runs).toBeNull();
    expect(batchOf({ tokens: 2, runs: [[0, 0, 3]] })?.runs).toBeNull();
    expect(batchOf({ tokens: 2 }, 1)).toBeNull();
    expect(batchOf({ tokens: -1, runs: [] })).toBeNull();
  });
});

describe("the parameters of a context", () => {
  const layout = chooseLayout({ soname: "libllama.v0.5.0.so", buildId: null }).params;
  function params(edit: (view: DataView) => void) {
    const view = new DataView(new ArrayBuffer(192));
    view.setUint32(0, 512, true);
    view.setUint32(4, 256, true);
    view.setUint32(12, 1, true);
    view.setInt32(28, 2, true);
    view.setInt32(52, 1, true);
    view.setInt32(104, 1, true);
    view.setInt32(108, 8, true);
    edit(view);
    return layout === null ? "no layout" : decodeContextParams(view, layout);
  }

  test("are read where the build is known", () => {
    expect(params(() => {})).toEqual({
      n_ctx: 512,
      n_batch: 256,
      n_seq_max: 1,
      n_threads: 2,
      flash_attention: "on",
      type_k: "f16",
      type_v: "q8_0",
    });
  });

  test("are left out when one of them is impossible", () => {
    expect(params((view) => view.setInt32(52, 7, true))).toBeNull();
    expect(params((view) => view.setInt32(104, 4, true))).toBeNull();
    expect(params((view) => view.setUint32(4, 0, true))).toBeNull();
  });
});

test("a path ends at its NUL, and is nothing where it could not be read", () => {
  const view = new DataView(new ArrayBuffer(1024));
  for (const [i, byte] of new TextEncoder().encode("/m/ü.gguf").entries()) view.setUint8(i, byte);
  expect(decodePath(view, 0)).toBe("/m/ü.gguf");
  expect(decodePath(view, 1)).toBeNull();
  expect(decodePath(new DataView(new ArrayBuffer(1024)), 0)).toBeNull();
});

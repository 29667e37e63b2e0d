import { describe, expect, test } from "bun:test";
import { decodeBatch, decodeContextParams, decodePath } from "../../../../src/engine/llama-cpp/decode-step.ts";
import { chooseLayout, GGML_LAYOUT } from "../../../../src/engine/llama-cpp/offsets.ts";
import { PROBE } from "../../../../src/engine/llama-cpp/probes.ts";
import { stepLog } from "../../../../src/engine/llama-cpp/step-log.ts";
import { type BatchFields, batchBytes, rawRecord } from "../../../fixtures/ggml-structs.ts";

const CONTEXT = 0x9000n;

function log(weights = { bytes: 0, tensors: 0 }) {
  return stepLog({ pid: 7, layout: GGML_LAYOUT, weights });
}

function decode(steps: ReturnType<typeof log>, time: bigint, batch: BatchFields, result = 0n, context = CONTEXT): void {
  const payload = batchBytes(batch);
  steps.take(rawRecord({ probe: PROBE.decode, args: [context], time, payload }));
  steps.take(rawRecord({ probe: PROBE.decode, isReturn: true, args: [result], time: time + 5n }));
}

function batchOf(fields: BatchFields, unreadable = 0) {
  return decodeBatch(new DataView(batchBytes(fields).buffer), unreadable);
}

describe("a batch from its bytes", () => {
  test("has tokens, sequences and positions", () => {
    expect(batchOf({ tokens: 66, positions: [10, 75], mask: 4n, first: 2 })).toEqual({
      n_tokens: 66,
      n_sequences: 1,
      sequence_id: 2,
      position_first: 10,
      position_last: 75,
      sequence_mask: 4n,
    });
  });

  test("names no sequence and no position where several sequences are in it", () => {
    const batch = batchOf({ tokens: 3, positions: [4, 90], mask: 7n });
    expect(batch).toMatchObject({ n_sequences: 3, sequence_id: null, position_first: null });
  });

  test("does not claim what was not read: a long batch, a sequence beyond 63, a token that could not be read", () => {
    for (const batch of [
      batchOf({ tokens: 9000, tokensRead: 8192 }),
      batchOf({ tokens: 2, beyond: 1 }),
      batchOf({ tokens: 2 }, 1),
    ]) {
      expect(batch).toMatchObject({ n_sequences: null, sequence_id: null, position_first: null });
    }
    expect(batchOf({ tokens: 2 }, 2)).toBeNull();
    expect(batchOf({ tokens: -1 })).toBeNull();
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

describe("the steps of a process", () => {
  test("join a decode's call to its return", () => {
    const steps = log();
    decode(steps, 100n, { tokens: 66, positions: [0, 65] });
    expect(steps.takeRows()).toMatchObject([
      {
        kind: "decode",
        timestamp_ns: 100n,
        end_ns: 105n,
        n_tokens: 66,
        n_sequences: 1,
        position_first: 0,
        sequence_id: 0,
        result: 0n,
        detail: '{"context":"0x9000"}',
      },
    ]);
  });

  test("keep the head of the cache through decodes, a failed one, a trim and a clear", () => {
    const steps = log();
    const row = () => steps.kvHeads().map(({ next_row }) => next_row);
    decode(steps, 100n, { tokens: 66, positions: [0, 65] });
    decode(steps, 200n, { tokens: 1, positions: [66, 66] });
    expect(row()).toEqual([67]);
    decode(steps, 300n, { tokens: 1, positions: [67, 67] }, -1n);
    expect(row()).toEqual([67]);
    steps.take(rawRecord({ probe: PROBE.memory_seq_rm, args: [1n, 0n, 30n, -1n] }));
    expect(row()).toEqual([30]);
    decode(steps, 400n, { tokens: 2, positions: null });
    expect(row()).toEqual([32]);
    steps.take(rawRecord({ probe: PROBE.memory_clear, args: [1n, 1n] }));
    expect(row()).toEqual([0]);
    expect(steps.takeRows().map(({ kind, position_first }) => [kind, position_first])).toEqual([
      ["decode", 0],
      ["decode", 66],
      ["decode", 67],
      ["kv_trim", null],
      ["decode", 30],
      ["kv_clear", null],
    ]);
  });

  test("do not guess which of two contexts was cleared", () => {
    const steps = log();
    decode(steps, 1n, { tokens: 4, positions: [0, 3] });
    decode(steps, 2n, { tokens: 9, positions: [0, 8] }, 0n, 0xa000n);
    steps.take(rawRecord({ probe: PROBE.memory_clear, args: [1n, 1n] }));
    expect(steps.kvHeads().map(({ next_row }) => next_row)).toEqual([4, 9]);
    steps.take(rawRecord({ probe: PROBE.context_free, args: [0xa000n] }));
    expect(steps.kvHeads().map(({ context }) => context)).toEqual([CONTEXT]);
  });

  test("measure the token period between decodes of one token per sequence only", () => {
    const steps = log();
    decode(steps, 0n, { tokens: 66, positions: [0, 65] });
    for (let i = 0; i < 4; i++) decode(steps, BigInt(1000 + i * 50), { tokens: 2, mask: 3n });
    expect(steps.tokenPeriodsNs()).toEqual([50, 50, 50]);
  });

  test("tell a simulated load from a real one by the weights that it placed", () => {
    const weights = { bytes: 0, tensors: 0 };
    const steps = log(weights);
    const payload = new Uint8Array(1024);
    payload.set(new TextEncoder().encode("/m.gguf"));
    const load = () => {
      steps.take(rawRecord({ probe: PROBE.model_load, payload }));
      return () => steps.take(rawRecord({ probe: PROBE.model_load, isReturn: true, args: [0x77n] }));
    };
    load()();
    const end = load();
    weights.bytes += 1000;
    weights.tensors += 2;
    end();
    const [first, second] = steps.takeRows().map(({ detail }) => JSON.parse(detail ?? ""));
    expect(first).toEqual({ path: "/m.gguf", weight_tensors: 0, weight_bytes: 0, simulated: true });
    expect(second).toEqual({ path: "/m.gguf", weight_tensors: 2, weight_bytes: 1000 });
  });

  test("tell a return whose call began before the probes were there from one whose call was lost", () => {
    const steps = log();
    const ended = { isReturn: true, args: [0n] };
    expect(steps.take(rawRecord({ probe: PROBE.decode, ...ended }))).toBe("under_way");
    expect(steps.take(rawRecord({ probe: PROBE.decode, ...ended }))).toBe("under_way");
    decode(steps, 10n, { tokens: 1 });
    expect(steps.take(rawRecord({ probe: PROBE.decode, ...ended }))).toBe("call_unseen");
    expect(steps.take(rawRecord({ probe: PROBE.context_init, ...ended }))).toBe("under_way");
    expect(steps.takeRows()).toHaveLength(1);
  });

  test("give a call that never returned a row without an end", () => {
    const steps = log();
    const payload = batchBytes({ tokens: 1 });
    steps.take(rawRecord({ probe: PROBE.decode, args: [CONTEXT], time: 3n, payload }));
    expect(steps.takeRows()).toEqual([]);
    steps.flush();
    expect(steps.takeRows()).toMatchObject([{ kind: "decode", timestamp_ns: 3n, end_ns: null, result: null }]);
    expect(steps.take(rawRecord({ probe: PROBE.decode, isReturn: true }))).toBe("call_unseen");
  });
});

import { describe, expect, test } from "bun:test";
import { GGML_LAYOUT } from "../../../../src/engine/llama-cpp/offsets.ts";
import { PROBE } from "../../../../src/engine/llama-cpp/probes.ts";
import { stepLog } from "../../../../src/engine/llama-cpp/step-log.ts";
import type { CacheShape } from "../../../../src/engine/llama-cpp/written-cells.ts";
import { stepRows } from "../../../../src/label/timeline/step-row.ts";
import {
  type BatchFields,
  batchBytes,
  type GraphFields,
  graphBytes,
  rawRecord,
} from "../../../fixtures/ggml-structs.ts";
import { kvTokens } from "../../../fixtures/listed-tokens.ts";

const CONTEXT = 0x9000n;

function log(weights = { bytes: 0, tensors: 0 }, shape: CacheShape | null = null) {
  return stepLog({ pid: 7, layout: GGML_LAYOUT, weights, isSettled: () => false, cacheAt: () => shape });
}

function decode(steps: ReturnType<typeof log>, time: bigint, batch: BatchFields, result = 0n, context = CONTEXT): void {
  const payload = batchBytes(batch);
  steps.take(rawRecord({ probe: PROBE.decode, args: [context], time, payload }));
  steps.take(rawRecord({ probe: PROBE.decode, isReturn: true, args: [result], time: time + 5n }));
}

/** A context that is made before our eyes. */
function madeContext(steps: ReturnType<typeof log>): void {
  const made = { probe: PROBE.context_init, payload: new Uint8Array(192) };
  steps.take(rawRecord({ ...made, args: [1n] }));
  steps.take(rawRecord({ ...made, isReturn: true, args: [CONTEXT] }));
}

describe("the steps of a process", () => {
  test("join a decode's call to its return", () => {
    const steps = log();
    decode(steps, 100n, { tokens: 66 });
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
    decode(steps, 100n, { tokens: 66 });
    decode(steps, 200n, { tokens: 1, runs: [[0, 66, 1]] });
    expect(row()).toEqual([67]);
    decode(steps, 300n, { tokens: 1, runs: [[0, 67, 1]] }, -1n);
    expect(row()).toEqual([67]);
    steps.take(rawRecord({ probe: PROBE.memory_seq_rm, args: [1n, 0n, 30n, -1n] }));
    expect(row()).toEqual([30]);
    decode(steps, 400n, { tokens: 2, hasPositions: false });
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
    decode(steps, 1n, { tokens: 4 });
    decode(steps, 2n, { tokens: 9 }, 0n, 0xa000n);
    steps.take(rawRecord({ probe: PROBE.memory_clear, args: [1n, 1n] }));
    expect(steps.kvHeads().map(({ next_row }) => next_row)).toEqual([4, 9]);
    steps.take(rawRecord({ probe: PROBE.context_free, args: [0xa000n] }));
    expect(steps.kvHeads().map(({ context }) => context)).toEqual([CONTEXT]);
  });

  test("name the sequences of a batch, and the positions that the engine gives them", () => {
    const steps = log();
    madeContext(steps);
    decode(steps, 1n, { tokens: 3, runs: [[0, 0, 3]] });
    decode(steps, 2n, {
      tokens: 4,
      hasPositions: false,
      runs: [
        [0, 0, 1],
        [[1, 2], 0, 2],
        [0, 0, 1],
      ],
    });
    const [, , mixed] = steps.takeRows();
    expect(mixed).toMatchObject({ n_tokens: 4, n_sequences: 3, sequence_id: null, position_first: null });
    expect(JSON.parse(mixed?.detail ?? "")).toEqual({
      context: "0x9000",
      kv_rows: [
        [0, 3, 1],
        [[1, 2], 0, 2],
        [0, 4, 1],
      ],
    });
    decode(steps, 3n, { tokens: 9000, held: 8192, runs: [[0, 0, 8192]] });
    expect(steps.takeRows()).toMatchObject([{ n_tokens: 9000, n_sequences: null, position_first: null }]);
  });

  test("say of which sequences one token is of their prompt: none of the batch before asked for logits", () => {
    const steps = log();
    madeContext(steps);
    decode(steps, 1n, { tokens: 64, runs: [[0, 0, 64, 0]] });
    decode(steps, 2n, { tokens: 1, runs: [[0, 64, 1, 1]] });
    decode(steps, 3n, {
      tokens: 9,
      runs: [
        [0, 65, 1, 1],
        [1, 0, 8, 0],
      ],
    });
    decode(steps, 4n, {
      tokens: 2,
      runs: [
        [0, 66, 1, 1],
        [1, 8, 1, 1],
      ],
    });
    const details = steps
      .takeRows()
      .flatMap(({ kind, detail }) => (kind === "decode" ? [JSON.parse(detail ?? "")] : []));
    expect(details.map(({ prompt_sequences }) => prompt_sequences)).toEqual([undefined, [0], undefined, [1]]);
  });

  test("tell no position that the engine gives where nobody saw what was in the cache", () => {
    const steps = log();
    const left = { tokens: 2, hasPositions: false };
    const first = () =>
      steps.takeRows().flatMap(({ kind, position_first }) => (kind === "decode" ? [position_first] : []));
    decode(steps, 1n, left);
    expect(first()).toEqual([null]);
    madeContext(steps);
    decode(steps, 2n, left);
    decode(steps, 3n, left);
    expect(first()).toEqual([0, 2]);
    steps.take(rawRecord({ probe: PROBE.restore_seq, args: [CONTEXT, 0n, 0n, 0n] }));
    decode(steps, 4n, left);
    expect(first()).toEqual([null]);
    decode(steps, 5n, { tokens: 1, runs: [[0, 140, 1]] });
    decode(steps, 6n, left);
    expect(first()).toEqual([140, 141]);
    steps.take(rawRecord({ probe: PROBE.restore, args: [CONTEXT] }));
    steps.take(rawRecord({ probe: PROBE.memory_seq_rm, args: [1n, 0n, -1n, -1n] }));
    decode(steps, 7n, left);
    expect(first()).toEqual([0]);
  });

  test("name whose cache is changed by the context that its memory was asked of", () => {
    const steps = log();
    const memoryOf = (context: bigint, memory: bigint) => {
      steps.take(rawRecord({ probe: PROBE.get_memory, args: [context] }));
      steps.take(rawRecord({ probe: PROBE.get_memory, isReturn: true, args: [memory] }));
    };
    decode(steps, 1n, { tokens: 4 });
    decode(steps, 2n, { tokens: 9 }, 0n, 0xa000n);
    memoryOf(0xa000n, 0x5n);
    const calls = [
      [PROBE.memory_seq_rm, [5n, 3n, 2n, -1n]],
      [PROBE.memory_seq_rm, [6n, -1n, -1n, -1n]],
      [PROBE.memory_seq_cp, [5n, 3n, 4n, 0n, 7n]],
      [PROBE.memory_seq_keep, [5n, 4n]],
      [PROBE.memory_seq_add, [5n, 4n, 2n, -1n, -2n]],
      [PROBE.memory_seq_div, [5n, 4n, 0n, -1n, 2n]],
      [PROBE.restore, [0xa000n, 1n, 2n]],
      [PROBE.restore_file, [0xa000n, 1n, 2n, 3n]],
      [PROBE.restore_seq, [0xa000n, 1n, 2n, 3n]],
      [PROBE.restore_seq_part, [0xa000n, 1n, 2n, 3n, 1n]],
      [PROBE.restore_seq_file, [0xa000n, 1n, 2n, 3n]],
    ] as const;
    steps.takeRows();
    for (const [probe, args] of calls) steps.take(rawRecord({ probe, args }));
    const rows = steps.takeRows().map(({ kind, sequence_id, detail }) => [kind, sequence_id, JSON.parse(detail ?? "")]);
    const owner = { memory: "0x5", context: "0xa000" };
    const range = { position_from: 2, position_to: -1 };
    expect(rows).toEqual([
      ["kv_trim", 3, { ...owner, sequence: 3, ...range }],
      ["kv_trim", null, { memory: "0x6", sequence: -1, position_from: -1, position_to: -1 }],
      ["kv_copy", 4, { ...owner, sequence_from: 3, position_from: 0, position_to: 7 }],
      ["kv_keep", 4, owner],
      ["kv_shift", 4, { ...owner, ...range, positions: -2 }],
      ["kv_divide", 4, { ...owner, position_from: 0, position_to: -1, divisor: 2 }],
      ["kv_restore", null, { context: "0xa000" }],
      ["kv_restore", null, { context: "0xa000" }],
      ["kv_restore", 3, { context: "0xa000" }],
      ["kv_restore", 3, { context: "0xa000", partial: true }],
      ["kv_restore", 2, { context: "0xa000" }],
    ]);
  });

  test("leave it open whose cache is changed where nobody saw of whom its memory is, though one context alone was seen", () => {
    const steps = log();
    decode(steps, 1n, { tokens: 4 });
    steps.take(rawRecord({ probe: PROBE.memory_clear, args: [6n, 1n], time: 10n }));
    // Another one decodes for the first time, whose memory that may have been.
    decode(steps, 20n, { tokens: 9 }, 0n, 0xa000n);
    const rows = steps.takeRows();
    expect(rows.map(({ kind, detail }) => [kind, JSON.parse(detail ?? "{}").context ?? null])).toEqual([
      ["decode", "0x9000"],
      ["kv_clear", null],
      ["decode", "0xa000"],
    ]);
    const told = (count: number) =>
      kvTokens(
        stepRows(
          rows.slice(0, count).map((row) => ({ ...row, engine: "llama.cpp" })),
          0n,
        ),
      );
    expect(told(2).tokens.map(({ end }) => end?.by)).toEqual(Array(4).fill("cleared"));
    expect(told(3)).toMatchObject({ tokens: [], untold: "a step does not say which of 2 contexts it is about" });
  });

  test("say no next row of a cache of which the order of rows is not known", () => {
    const heads = (...changes: readonly (readonly [number, readonly bigint[]])[]) => {
      const steps = log();
      decode(steps, 1n, { tokens: 4 });
      for (const [probe, args] of changes) steps.take(rawRecord({ probe, args }));
      return steps.kvHeads().map(({ next_row }) => next_row);
    };
    expect(heads()).toEqual([4]);
    expect(heads([PROBE.memory_seq_add, [5n, 0n, 2n, -1n, -2n]])).toEqual([]);
    expect(heads([PROBE.memory_seq_rm, [5n, 0n, 1n, 2n]])).toEqual([]);
    expect(heads([PROBE.memory_seq_cp, [5n, 0n, 1n, -1n, -1n]])).toEqual([]);
    expect(heads([PROBE.restore_seq, [CONTEXT, 1n, 2n, 0n]])).toEqual([]);
    expect(heads([PROBE.memory_seq_cp, [5n, 0n, 1n, -1n, -1n]], [PROBE.memory_clear, [5n, 1n]])).toEqual([0]);
    const several = log();
    decode(several, 1n, {
      tokens: 2,
      runs: [
        [0, 0, 1],
        [1, 0, 1],
      ],
    });
    expect(several.kvHeads()).toEqual([]);
    // Of an image all tokens stand at one position, and the next one further on.
    for (const last of [
      [0, 5, 1],
      [0, 4, 1],
    ] as const) {
      const image = log();
      decode(image, 1n, { tokens: 5 });
      expect(image.kvHeads()).toMatchObject([{ next_row: 5 }]);
      decode(image, 10n, { tokens: 2, runs: [[0, 5, 1], last] });
      decode(image, 20n, { tokens: 1, runs: [[0, 9, 1]] });
      expect(image.kvHeads()).toEqual([]);
    }
  });

  test("measure the token period between decodes of one token per sequence only", () => {
    const steps = log();
    decode(steps, 0n, { tokens: 66 });
    for (let i = 0; i < 4; i++)
      decode(steps, BigInt(1000 + i * 50), {
        tokens: 2,
        runs: [
          [0, i, 1],
          [1, i, 1],
        ],
      });
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

  function graphOf(steps: ReturnType<typeof log>, fields: GraphFields): void {
    steps.take(rawRecord({ probe: PROBE.graph_compute, payload: graphBytes(fields) }));
  }

  test("name the cells of a batch by the graphs inside its call, where the cache that they write is known", () => {
    const call = (steps: ReturnType<typeof log>, tokens: number, fields: readonly GraphFields[]) => {
      steps.take(rawRecord({ probe: PROBE.decode, args: [CONTEXT], payload: batchBytes({ tokens }) }));
      for (const one of fields) graphOf(steps, one);
      steps.take(rawRecord({ probe: PROBE.decode, isReturn: true, args: [0n] }));
      const detail = steps.takeRows().find(({ kind }) => kind === "decode")?.detail;
      return JSON.parse(detail ?? "").kv_row_cells;
    };
    const cache = 0x5000n;
    const graphs: GraphFields[] = [
      { tokens: 2, cache, cells: [[7, 2]] },
      { tokens: 2, op: 12 },
      { tokens: 1, cache, cells: [[3, 1]] },
    ];
    const steps = log(undefined, { cells: 64, streams: 1 });
    expect(call(steps, 3, graphs)).toEqual([
      [7, 2],
      [3, 1],
    ]);
    expect(call(steps, 4, graphs)).toBeUndefined();
    expect(call(log(), 3, graphs)).toBeUndefined();
  });

  test("say how many tokens each graph has where several sequences are in several graphs", () => {
    const cache = 0x5000n;
    const runs = [
      [0, 0, 1],
      [1, 0, 2],
    ] as const;
    const graphTokens = (batch: BatchFields, graphs: readonly number[]) => {
      const steps = log(undefined, { cells: 64, streams: 1 });
      steps.take(rawRecord({ probe: PROBE.decode, args: [CONTEXT], payload: batchBytes(batch) }));
      for (const [i, tokens] of graphs.entries()) graphOf(steps, { tokens, cache, cells: [[8 * i, tokens]] });
      steps.take(rawRecord({ probe: PROBE.decode, isReturn: true, args: [0n] }));
      const detail = steps.takeRows().find(({ kind }) => kind === "decode")?.detail;
      return JSON.parse(detail ?? "").kv_graph_tokens;
    };
    expect(graphTokens({ tokens: 3, runs }, [2, 1])).toEqual([2, 1]);
    expect(graphTokens({ tokens: 3, runs }, [3])).toBeUndefined();
    expect(graphTokens({ tokens: 3 }, [2, 1])).toBeUndefined();
  });

  test("say nothing of the weights of a load whose tensors may not have been seen", () => {
    let settled = true;
    const weights = { bytes: 0, tensors: 0 };
    const steps = stepLog({ pid: 7, layout: GGML_LAYOUT, weights, isSettled: () => settled, cacheAt: () => null });
    const payload = new Uint8Array(1024);
    payload.set(new TextEncoder().encode("/m.gguf"));
    steps.take(rawRecord({ probe: PROBE.model_load, payload }));
    settled = false;
    steps.take(rawRecord({ probe: PROBE.model_load, isReturn: true, args: [0x77n] }));
    expect(steps.takeRows().map(({ detail }) => detail)).toEqual(['{"path":"/m.gguf"}']);
  });

  test("count the tokens of graphs that are computed in parts by the first part of each, which may look up rows too", () => {
    const steps = log();
    const [list, other] = [0x7f00_0000_0000n, 0x7f00_0010_0000n];
    steps.take(rawRecord({ probe: PROBE.process, args: [CONTEXT, 1n, 0x5000n] }));
    for (const [from, tokens] of [
      ...[[list, 40] as const, [list + 8n, 7] as const, [list + 8000n, 1] as const],
      ...[[list, 40] as const, [list + 8000n, 1] as const],
      ...[[other, 9] as const, [other + 8000n, 2] as const],
    ])
      graphOf(steps, { tokens, list: from });
    steps.take(rawRecord({ probe: PROBE.process, isReturn: true, args: [0n] }));
    expect(steps.takeRows().filter(({ kind }) => kind === "decode")).toMatchObject([{ n_tokens: 89 }]);
  });

  test("name the sequences of a batch that was filled token by token, where its graphs have as many tokens", () => {
    const steps = log();
    const batch = 0x5000n;
    const add = (index: bigint, sequence: bigint, position: number) => {
      const payload = new Uint8Array(new Int32Array([position]).buffer);
      steps.take(rawRecord({ probe: PROBE.batch_add, args: [batch, sequence] }));
      steps.take(rawRecord({ probe: PROBE.batch_set_pos, args: [batch, index], payload }));
    };
    const ask = (index: bigint) => steps.take(rawRecord({ probe: PROBE.batch_ask, args: [batch, index, 0xf01n] }));
    const process = (tokens: number) => {
      steps.take(rawRecord({ probe: PROBE.process, args: [CONTEXT, 1n, batch] }));
      if (tokens > 0) graphOf(steps, { tokens });
      steps.take(rawRecord({ probe: PROBE.process, isReturn: true, args: [0n] }));
    };
    add(0n, 1n, 5);
    add(1n, 1n, 6);
    process(2);
    steps.take(rawRecord({ probe: PROBE.batch_empty, args: [batch] }));
    add(0n, 1n, 7);
    add(1n, 3n, 0);
    steps.take(rawRecord({ probe: PROBE.batch_add_seq, args: [batch, 1n, 0n] }));
    process(2);
    // The last token was refused, and no graph has it; a graph of another memory tells of no token.
    add(2n, 3n, 1);
    process(2);
    process(0);
    steps.take(rawRecord({ probe: PROBE.batch_empty, args: [batch] }));
    add(0n, 3n, 2);
    ask(0n);
    process(1);
    const told = steps.takeRows().filter(({ kind }) => kind === "decode");
    expect(told).toMatchObject([
      { n_tokens: 2, n_sequences: 1, sequence_id: 1, position_first: 5, detail: '{"context":"0x9000"}' },
      { n_tokens: 2, n_sequences: 3, sequence_id: null, position_first: null },
      { n_tokens: 2, n_sequences: null },
      { n_tokens: 3, n_sequences: 3 },
      { n_tokens: 1, sequence_id: 3, detail: '{"context":"0x9000","prompt_sequences":[3]}' },
    ]);
    expect(JSON.parse(told[1]?.detail ?? "").kv_rows).toEqual([
      [1, 7, 1],
      [[0, 3], 0, 1],
    ]);
    expect(steps.kvHeads()).toEqual([]);
  });

  test("count the tokens of a batch that no structure tells by the graphs inside its call", () => {
    const steps = log();
    const graph = (tokens: number, op = 40) => graphOf(steps, { tokens, op });
    const call = (type: bigint, inside: () => void) => {
      steps.take(rawRecord({ probe: PROBE.process, args: [CONTEXT, type], time: 1n }));
      inside();
      steps.take(rawRecord({ probe: PROBE.process, isReturn: true, args: [0n], time: 9n }));
    };
    graph(7);
    call(1n, () => {
      graph(17);
      graph(3);
      graph(5, 12);
    });
    call(1n, () => graph(5, 12));
    // What only encodes is a step of another kind; a call inside one that told its batch is none.
    call(0n, () => graph(4));
    steps.take(rawRecord({ probe: PROBE.decode, args: [CONTEXT], payload: batchBytes({ tokens: 2 }) }));
    call(1n, () => graph(2));
    steps.take(rawRecord({ probe: PROBE.decode, isReturn: true, args: [0n] }));
    const batches = steps.takeRows().filter(({ kind }) => kind === "decode" || kind === "encode");
    expect(batches.map(({ kind, n_tokens, n_sequences }) => [kind, n_tokens, n_sequences])).toEqual([
      ["decode", 20, null],
      ["decode", null, null],
      ["encode", 4, null],
      ["decode", 2, 1],
    ]);
    expect(batches[0]).toMatchObject({ timestamp_ns: 1n, end_ns: 9n, result: 0n, detail: '{"context":"0x9000"}' });
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

  test("leave nothing of a context that is freed while it decodes", () => {
    const steps = log();
    steps.take(rawRecord({ probe: PROBE.decode, args: [CONTEXT], payload: batchBytes({ tokens: 4 }) }));
    steps.take(rawRecord({ probe: PROBE.context_free, args: [CONTEXT], tid: 9 }));
    steps.take(rawRecord({ probe: PROBE.decode, isReturn: true, args: [0n] }));
    expect(steps.takeRows().map(({ kind, end_ns }) => [kind, end_ns !== null])).toEqual([
      ["context_free", false],
      ["decode", true],
    ]);
    expect(steps.kvHeads()).toEqual([]);
    // Another one is alone then, so that it is known what its tokens are.
    const other = CONTEXT + 0x100n;
    decode(steps, 10n, { tokens: 2, runs: [[0, 0, 2, 1]] }, 0n, other);
    decode(steps, 20n, { tokens: 1, runs: [[1, 0, 1, 1]] }, 0n, other);
    expect(steps.takeRows().at(-1)?.detail).toContain("prompt_sequences");
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

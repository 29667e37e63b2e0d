import { describe, expect, test } from "bun:test";
import { createTokenCount, tokenFacts } from "../../../src/record/token-count.ts";
import { batchWith, type Given } from "../../fixtures/row-with.ts";

type Step = Given<"step">;

function counted(...steps: readonly Step[]) {
  const tokens = createTokenCount();
  const who = { pid: 1, tid: 1 };
  for (const step of steps) tokens.take(batchWith("step", [{ ...who, ...step }]));
  return tokens;
}

const decode = (n_tokens: number | null, begin_ms: number, end_ms: number | null): Step => ({
  kind: "decode",
  n_tokens,
  timestamp_ns: BigInt(begin_ms) * 1_000_000n,
  end_ns: end_ms === null ? null : BigInt(end_ms) * 1_000_000n,
});

describe("tokens of a run", () => {
  test("are unknown before any step", () => {
    expect(createTokenCount()).toMatchObject({
      prompt_tokens: null,
      decode_tokens: 0,
      decode_tokens_per_s: null,
      decode_call_tokens_per_s: null,
      ttft_ms: null,
      phase: "running",
    });
  });

  test("are of the prompt where a batch has several, else decoded: per second of wall time, and of the decode calls alone", () => {
    const tokens = counted(decode(66, 0, 250), decode(1, 300, 310), decode(1, 400, 430));
    expect(tokens).toMatchObject({ prompt_tokens: 66, decode_tokens: 2, ttft_ms: 250, phase: "decoding" });
    expect(tokens.decode_tokens_per_s).toBeCloseTo(2 / 0.18, 9);
    expect(tokens.decode_call_tokens_per_s).toBeCloseTo(50, 9);
  });

  test("are those of one of the workers that make the same steps: the first of them, or another where that is not traced", () => {
    const steps = [decode(66, 0, 250), decode(1, 300, 310), decode(1, 400, 430)];
    const alone = counted(...steps);
    const repeated = (pid: number): Step => ({ kind: "engine", pid, detail: '{"repeats_steps":true}' });
    const same = (tokens: ReturnType<typeof counted>) => {
      expect(tokens).toMatchObject({ prompt_tokens: 66, decode_tokens: 2, beside_tokens: 0 });
      expect(tokens.decode_tokens_per_s).toBe(alone.decode_tokens_per_s);
      expect(tokens.decode_call_tokens_per_s).toBe(alone.decode_call_tokens_per_s);
    };
    const each = (...pids: number[]) => steps.flatMap((step) => pids.map((pid) => ({ ...step, pid })));
    same(counted(...each(1, 2), repeated(2)));
    same(counted(repeated(2), repeated(3), ...each(2, 1, 3)));
    same(counted(...each(2, 3), repeated(2), repeated(3)));
    // Engines that work beside each other have steps of their own.
    expect(counted(...each(1, 2))).toMatchObject({ prompt_tokens: 132, decode_tokens: 4 });
  });

  test("are not known, and bounded by nothing, where an engine does not tell apart whose tokens a step has", () => {
    const steps = [decode(66, 0, 250), decode(1, 300, 310), decode(1, 400, 430)];
    const mixed: Step = { kind: "engine", detail: '{"mixes_tokens":true}' };
    for (const tokens of [counted(...steps, mixed), counted(mixed, ...steps)]) {
      expect(tokenFacts(tokens, false)).toEqual({
        ...{ prompt_tokens: null, decode_tokens: null, prompt_tokens_at_least: null, decode_tokens_at_least: null },
        ...{ decode_tokens_per_s: null, decode_call_tokens_per_s: null, ttft_ms: null },
      });
    }
    expect(tokenFacts(counted(...steps), false)).toMatchObject({ prompt_tokens: 66, decode_tokens: 2 });
  });

  test("are decoded from the begin of the first call for them to the end of the last, in each process", () => {
    const tokens = counted(decode(66, 0, 250), decode(1, 300, 310), decode(9, 400, 430), decode(1, 500, 510));
    expect([...tokens.decoding]).toEqual([[1, { begin_ns: 300e6, end_ns: 510e6 }]]);
    expect([...counted(decode(66, 0, 250)).decoding]).toEqual([]);
  });

  test("have the time to the first token of the first prompt, and not of a trial whose cache the engine clears at once", () => {
    const cleared = (at_ms: number, pid = 1): Step => ({
      kind: "kv_clear",
      pid,
      timestamp_ns: BigInt(at_ms) * 1_000_000n,
    });
    const trimmed: Step = { ...cleared(21), kind: "kv_trim" };
    const trial = [cleared(0), decode(2, 1, 20), trimmed, cleared(21)];
    expect(counted(...trial).ttft_ms).toBeNull();
    expect(counted(...trial).prompt_tokens).toBeNull();
    expect(counted(...trial, decode(66, 100, 350)).ttft_ms).toBe(250);
    // A server may warm up, and then try its cache.
    expect(counted(...trial, decode(2, 30, 40), cleared(41), decode(66, 100, 350)).ttft_ms).toBe(250);
    // A short prompt is one where it is answered, where another process clears, and where nobody does.
    expect(counted(decode(2, 1, 20), decode(1, 20, 22), cleared(23), decode(66, 100, 350)).ttft_ms).toBe(19);
    expect(counted(decode(2, 1, 20), cleared(21, 2), decode(66, 100, 350)).ttft_ms).toBe(19);
    expect(counted(decode(2, 1, 20), decode(66, 100, 350), cleared(351)).ttft_ms).toBe(19);
    // Who scores texts clears the cache behind each, and reads its answer.
    expect(counted(decode(66, 1, 20), cleared(21), decode(66, 100, 350)).ttft_ms).toBe(19);
  });

  test("have the time to the first token of a prompt that comes in several batches", () => {
    const part = (position_first: number, n_tokens: number, begin_ms: number, end_ms: number): Step => ({
      ...decode(n_tokens, begin_ms, end_ms),
      ...{ position_first, n_sequences: 1, sequence_id: 3, detail: '{"context":"0x1"}' },
    });
    const parts = [part(0, 64, 0, 100), part(64, 64, 100, 220), part(128, 9, 220, 250), part(137, 1, 260, 270)];
    expect(counted(...parts)).toMatchObject({ prompt_tokens: 137, decode_tokens: 1, ttft_ms: 250 });
    expect(counted(...parts.toSpliced(2, 0, { ...part(128, 64, 220, 221), result: 1n })).ttft_ms).toBe(250);
  });

  test("are of the prompt where the engine says so of one token, as of its last that has a batch for itself", () => {
    const part = (position_first: number, n_tokens: number, begin_ms: number, alone = {}): Step => ({
      ...decode(n_tokens, begin_ms, begin_ms + 10),
      ...{ position_first, n_sequences: 1, sequence_id: 3, detail: JSON.stringify({ context: "0x1", ...alone }) },
    });
    const last = part(64, 1, 20, { prompt_sequences: [3] });
    const tokens = counted(part(0, 64, 0), last, part(65, 1, 40), part(66, 1, 60));
    expect(tokens).toMatchObject({ prompt_tokens: 65, decode_tokens: 2, ttft_ms: 30, phase: "decoding" });
    expect([...tokens.decoding]).toEqual([[1, { begin_ns: 40e6, end_ns: 70e6 }]]);
    // Beside the answers of others too.
    const kv_rows = [
      [3, 64, 1],
      [4, 9, 1],
    ];
    const detail = JSON.stringify({ context: "0x1", kv_rows, prompt_sequences: [3] });
    const both: Step = { ...decode(2, 20, 30), n_sequences: 2, detail };
    expect(counted(part(0, 64, 0), both)).toMatchObject({
      prompt_tokens: 65,
      decode_tokens: 1,
      beside_tokens: 1,
      ttft_ms: 30,
    });
  });

  test("are decoded in a draft: the one that was sampled, and the guesses that stay in the cache", () => {
    const part = (position_first: number, n_tokens: number, begin_ms: number, more = {}): Step => ({
      ...decode(n_tokens, begin_ms, begin_ms + 10),
      ...{ position_first, n_sequences: 1, sequence_id: 3, detail: JSON.stringify({ context: "0x1", ...more }) },
    });
    const trim = (kept_guesses: number): Step => ({
      ...{
        kind: "kv_trim",
        timestamp_ns: 0n,
        sequence_id: 3,
        detail: JSON.stringify({ context: "0x1", kept_guesses }),
      },
    });
    const draft = part(64, 5, 20, { drafts: [[3, 4]] });
    const alone = counted(part(0, 64, 0), draft, trim(2), part(67, 1, 40));
    expect(alone).toMatchObject({ prompt_tokens: 64, decode_tokens: 4, beside_tokens: 0, ttft_ms: 10 });
    expect(alone.decode_call_tokens_per_s).toBeCloseTo(4 / 0.02, 9);
    // Beside a prompt of another.
    const kv_rows = [
      [3, 64, 5],
      [4, 0, 9],
    ];
    const both = {
      ...decode(14, 20, 30),
      n_sequences: 2,
      detail: JSON.stringify({ context: "0x1", kv_rows, drafts: [[3, 4]] }),
    };
    expect(counted(part(0, 64, 0), both, trim(2))).toMatchObject({
      prompt_tokens: 73,
      decode_tokens: 3,
      beside_tokens: 3,
      ttft_ms: 10,
    });
  });

  test("are none of a draft model once it is known to be one, those before that neither", () => {
    const part = (context: string, position_first: number, n_tokens: number, begin_ms: number, more = {}): Step => ({
      ...decode(n_tokens, begin_ms, begin_ms + 10),
      ...{ position_first, n_sequences: 1, sequence_id: 3, detail: JSON.stringify({ context, ...more }) },
    });
    const turn = (position: number, begin_ms: number, more = {}): Step[] => [
      ...[0, 1].map((i) => part("0x2", position + i, 1, begin_ms + 10 * i)),
      part("0x1", position, 3, begin_ms + 20, { drafts: [[3, 2]], ...more }),
      part("0x2", position, 3, begin_ms + 30),
      { kind: "kv_trim", timestamp_ns: 0n, detail: JSON.stringify({ context: "0x1", kept_guesses: 1 }) },
    ];
    const before = [part("0x1", 0, 64, 0), part("0x2", 0, 64, 10), ...turn(64, 20)];
    expect(counted(...before)).toMatchObject({ prompt_tokens: 131, decode_tokens: 4 });
    const tokens = counted(...before, ...turn(66, 60, { drafted_by: "0x2" }), ...turn(68, 100));
    expect(tokens).toMatchObject({ prompt_tokens: 64, decode_tokens: 6, beside_tokens: 0, ttft_ms: 10 });
    expect(tokens.decode_call_tokens_per_s).toBeCloseTo(6 / 0.03, 9);
    // From the end of the prompt on, 120 ms, less two batches of several tokens of the draft model before it was known.
    expect(tokens.decode_tokens_per_s).toBeCloseTo(6 / 0.1, 9);
  });

  test("have none of the trials of a model that is loaded again, and all of a short prompt in a context that is in use", () => {
    const made: Step = { kind: "context", timestamp_ns: 0n, result: 16n };
    const cleared: Step = { kind: "kv_clear", timestamp_ns: 0n };
    const load = [made, decode(2, 1, 20), cleared, decode(2, 30, 40), cleared];
    const answer = [decode(66, 100, 350), decode(1, 350, 360)];
    const twice = counted(...load, ...answer, ...load, ...answer);
    expect(twice).toMatchObject({ prompt_tokens: 132, decode_tokens: 2, ttft_ms: 250 });
    expect(counted(...load, ...answer, decode(2, 400, 410), cleared)).toMatchObject({
      prompt_tokens: 68,
      ttft_ms: 250,
    });
  });

  test("take no time between the last token of an answer and the end of the next prompt", () => {
    const tokens = counted(decode(8, 0, 100), decode(1, 100, 110), decode(8, 5000, 5100), decode(1, 5110, 5130));
    expect(tokens.decode_tokens_per_s).toBeCloseTo(2 / 0.04, 9);
  });

  test("take the time of each process for itself", () => {
    const other = { ...decode(1, 105, 125), pid: 2 };
    const tokens = counted(decode(8, 0, 100), decode(1, 100, 110), other, decode(1, 110, 120));
    expect(tokens.decode_tokens_per_s).toBeCloseTo(3 / 0.04, 9);
  });

  test("are decoded where a batch has one of each of several sequences", () => {
    const tokens = counted({ ...decode(8, 0, 100), n_sequences: 4 }, { ...decode(4, 100, 200), n_sequences: 4 });
    expect(tokens).toMatchObject({ prompt_tokens: 8, decode_tokens: 4, phase: "decoding" });
  });

  test("are decoded, not of a prompt, where a batch has the next one of some sequences beside the prompts of others", () => {
    const kv_rows = [
      [0, 0, 8],
      [1, 20, 1],
      [[2, 3], 31, 1],
      [4, 0, 1],
    ];
    const mixed = { ...decode(11, 0, 100), n_sequences: 4, detail: JSON.stringify({ kv_rows }) };
    const tokens = counted(mixed, decode(1, 100, 110), decode(1, 110, 120));
    expect(tokens).toMatchObject({ prompt_tokens: 9, decode_tokens: 4 });
    // Who waits for an answer waits for the prompts beside it too.
    expect(tokens.decode_tokens_per_s).toBeCloseTo(4 / 0.12, 9);
    expect(tokens.decode_call_tokens_per_s).toBeCloseTo(2 / 0.02, 9);
    expect(tokenFacts(tokens, false)).toMatchObject({ decode_tokens: 4, decode_tokens_beside_prompts: 2 });
    expect(tokenFacts(tokens, true)).not.toHaveProperty("decode_tokens_beside_prompts");
  });

  test("are of the prompt where its sequence has others in the batch: an image at one position, or tokens by turns", () => {
    const kv_rows = [[1, 40, 1], ...Array.from({ length: 9 }, () => [0, 12, 1])];
    const image = { ...decode(10, 0, 100), n_sequences: 2, detail: JSON.stringify({ kv_rows }) };
    expect(counted(image)).toMatchObject({ prompt_tokens: 9, decode_tokens: 1, beside_tokens: 1 });
    const turns = [
      [0, 8, 1],
      [[1, 2], 8, 1],
      [0, 9, 1],
      [[1, 2], 9, 1],
      [3, 8, 1],
    ];
    const byTurns = { ...decode(5, 0, 100), n_sequences: 4, detail: JSON.stringify({ kv_rows: turns }) };
    expect(counted(byTurns)).toMatchObject({ prompt_tokens: 4, decode_tokens: 1 });
  });

  test("are of the prompt where nothing tells whose they are", () => {
    for (const detail of [null, "", "{", "null", '{"kv_rows":7}', '{"kv_rows":[null,[1],[1,"2",1]]}']) {
      const tokens = counted({ ...decode(11, 0, 100), n_sequences: 4, detail });
      expect(tokens).toMatchObject({ prompt_tokens: 11, decode_tokens: 0 });
    }
  });

  test("are told to be unknown where graphs are computed and nothing that decodes is called", () => {
    const graph: Step = { kind: "graph", timestamp_ns: 1n, end_ns: null };
    expect(counted(graph, graph).uncalled_graphs).toBe(2);
    expect(counted(graph, decode(1, 0, null), graph).uncalled_graphs).toBe(0);
    expect(createTokenCount().uncalled_graphs).toBe(0);
  });

  test("give no rate before the second", () => {
    expect(counted(decode(1, 0, 10))).toMatchObject({ decode_tokens_per_s: null, decode_call_tokens_per_s: null });
  });

  test("take the first prefill for the time to the first token", () => {
    expect(counted(decode(8, 0, 100), decode(8, 200, 900))).toMatchObject({ prompt_tokens: 16, ttft_ms: 100 });
  });

  test("are not counted for a batch that had not returned, nor for one of unknown size", () => {
    const tokens = counted(decode(1, 0, 10), decode(1, 10, 20), decode(1, 20, null), decode(null, 30, 5000));
    expect(tokens.decode_tokens).toBe(2);
    expect(tokens.decode_tokens_per_s).toBeCloseTo(100, 9);
  });

  test("are not counted of a batch that was refused, and not known where it may have been computed in part", () => {
    const prompt = decode(66, 0, 250);
    const refused = (result: bigint): Step => ({ ...decode(64, 250, 251), result });
    for (const result of [1n, -1n]) {
      const tokens = counted(refused(result), prompt, refused(result), { ...decode(1, 300, 310), result: 0n });
      expect(tokens).toMatchObject({ prompt_tokens: 66, decode_tokens: 1, ttft_ms: 250, unread_calls: 0 });
      expect(counted(prompt, { ...decode(1, 300, 310), result })).toMatchObject({ decode_tokens: 0 });
    }
    for (const result of [2n, -2n, -3n])
      expect(counted(prompt, refused(result))).toMatchObject({ prompt_tokens: 66, unread_calls: 1 });
  });

  test("are numbers where every call was seen and read, and bounds from below where one was not", () => {
    const steps = [decode(66, 0, 250), decode(1, 300, 310), decode(1, 400, 430)];
    const whole = counted(...steps);
    expect(tokenFacts(whole, false)).toEqual({
      prompt_tokens: 66,
      decode_tokens: 2,
      prompt_tokens_at_least: null,
      decode_tokens_at_least: null,
      decode_tokens_per_s: whole.decode_tokens_per_s,
      decode_call_tokens_per_s: whole.decode_call_tokens_per_s,
      ttft_ms: 250,
    });
    const bound = {
      prompt_tokens: null,
      decode_tokens: null,
      prompt_tokens_at_least: 66,
      decode_tokens_at_least: 2,
      decode_tokens_per_s: null,
      decode_call_tokens_per_s: null,
      ttft_ms: null,
    };
    expect(tokenFacts(whole, true)).toEqual(bound);
    expect(tokenFacts(counted(...steps, decode(null, 500, 510)), false)).toEqual(bound);
  });

  test("are not known, and bounded by nothing, where no call was seen", () => {
    expect(Object.values(tokenFacts(counted(), true))).toEqual(Array(7).fill(null));
  });

  test("keep times beyond 2^53 exact", () => {
    const begin = 2n ** 60n + 1n;
    const step: Step = { kind: "decode", n_tokens: 4, timestamp_ns: begin, end_ns: begin + 1_500_000n };
    expect(counted(step).ttft_ms).toBe(1.5);
  });

  test("come with a word for what the engine does", () => {
    const at = { timestamp_ns: 1n };
    expect(counted({ ...at, kind: "model_load" }).phase).toBe("loading");
    expect(counted({ ...at, kind: "context" }).phase).toBe("loading");
    expect(counted({ ...at, kind: "model_load" }, decode(9, 1, 2)).phase).toBe("prefill");
  });

  test("are none in a batch that lacks the columns", () => {
    const tokens = createTokenCount();
    tokens.take({ table: "step", rows: 3, columns: {} });
    expect(tokens.decode_tokens).toBe(0);
  });
});

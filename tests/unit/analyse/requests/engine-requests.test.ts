import { describe, expect, test } from "bun:test";
import { engineRequests as requestsOf } from "../../../../src/analyse/requests/engine-requests.ts";
import { namedSummary } from "../../../../src/analyse/requests/request-summary.ts";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";

const row = (begin_ns: number, kind: string, detail: object, more: Partial<StepRow>, pid = 7): StepRow => ({
  ...{ pid, engine: "vLLM", kind, begin_ns, end_ns: begin_ns + 50, detail: JSON.stringify(detail) },
  ...{ n_tokens: null, n_sequences: null, position_first: null, sequence_id: null, result: null },
  ...more,
});
/** A step on rows [sequence, first position, tokens]. */
const decode = (begin_ns: number, rows: readonly [number, number, number][], pid = 7) => {
  const n_tokens = rows.reduce((sum, [, , tokens]) => sum + tokens, 0);
  return row(begin_ns, "decode", { kv_rows: rows }, { n_tokens, n_sequences: rows.length, result: 0 }, pid);
};
const named = (sequence_id: number, request: string, prompt_tokens: number | null, pid = 7) =>
  row(900, "request", { request, prompt_tokens, is_gone: false }, { sequence_id }, pid);
const TENSORS = [
  { pid: 7, name: "cache_kv_l0", row_bytes: 64 },
  { pid: 7, name: "cache_kv_l1", row_bytes: 64 },
  { pid: 9, name: "cache_kv_l0", row_bytes: 8 },
];

const engineRequests = (...asked: Parameters<typeof requestsOf>) => requestsOf(...asked).figures;
const unnamedSequences = (steps: readonly StepRow[]) => requestsOf(steps, TENSORS, 0n).unnamed;
const underWay = (steps: readonly StepRow[]) => requestsOf(steps, TENSORS, 0n).underWay.size;

describe("the requests that an engine names", () => {
  const steps = [
    decode(100, [[0, 0, 10]]),
    decode(200, [
      [0, 10, 1],
      [1, 8, 4],
    ]),
    decode(300, [[1, 12, 1]]),
    named(0, "a", 10),
    named(1, "b", 12),
  ];

  test("have their tokens, what they had of others, and the bytes of both", () => {
    expect(engineRequests(steps, TENSORS, 1000n)).toMatchObject([
      {
        ...{ request_id: 1, request: "a", timestamp_ns: 1100n, generation_ns: 150n, status: "served", sequence_id: 0 },
        ...{ prompt_tokens: 10, evaluated_tokens: 10, reused_tokens: 0, output_tokens: 2 },
        ...{ kv_bytes: 11n * 128n, saved_bytes: 0n, ttft_ns: null, wait_ns: null, streamed_tokens: null },
      },
      {
        ...{ request_id: 2, request: "b", timestamp_ns: 1200n, generation_ns: 150n },
        ...{ prompt_tokens: 12, evaluated_tokens: 4, reused_tokens: 8, output_tokens: 2 },
        ...{ kv_bytes: 13n * 128n, saved_bytes: 8n * 128n },
      },
    ]);
  });

  test("are told beside the sequences that nobody named, in the process that has most of these", () => {
    const more = [decode(600, [[5, 0, 3]]), decode(700, [[5, 3, 1]]), decode(800, [[6, 0, 3]])];
    expect(unnamedSequences([...steps, ...more, decode(200, [[0, 8, 4]], 9)])).toBe(2);
    expect(unnamedSequences(steps)).toBe(0);
    // An engine that names none says so itself.
    expect(unnamedSequences(more)).toBe(0);
    const figures = engineRequests(steps, TENSORS, 0n);
    expect(namedSummary(figures, { unnamed: 2 })).toMatchObject({ requests: 2, unnamed: 2, retention_ms: null });
    const needed = figures.map((one) => ({ ...one, retention_max_ns: 2_000_000n }));
    expect(namedSummary(needed)).toMatchObject({ retention_ms: { p50: 2, p99: 2 } });
  });

  test("are told to be under way where the engine did not say that they ended", () => {
    const gone = row(400, "request", { request: "a", prompt_tokens: 10, is_gone: true }, { sequence_id: 0 });
    expect([underWay(steps), underWay([...steps, gone]), underWay([])]).toEqual([2, 1, 0]);
    // Put off, and over before its next sequence was worked on.
    const next = row(950, "request", { request: "a", prompt_tokens: 10, is_gone: true }, { sequence_id: 5 });
    expect(underWay([...steps, next])).toBe(1);
    const told = namedSummary(engineRequests(steps, TENSORS, 0n), { underWay: new Set([2]) });
    // The second has 13 rows by now.
    const held = { p50: null, p50_at_least: 12 * 128, p99: null, p99_at_least: expect.closeTo(12.98 * 128, 6) };
    expect(told).toMatchObject({ requests: 2, under_way: 1, kv_bytes: held });
    expect(namedSummary([])).not.toHaveProperty("under_way");
  });

  test("have no bytes where their process has the cache of a layer twice, as of two models: nobody says in which they are", () => {
    const twice = [...TENSORS, { pid: 7, name: "cache_kv_l1", row_bytes: 32 }];
    expect(engineRequests(steps, twice, 0n)).toMatchObject([
      { kv_bytes: null, saved_bytes: null, output_tokens: 2 },
      { kv_bytes: null, saved_bytes: null, reused_tokens: 8 },
    ]);
  });

  test("are one where they were put off and began anew, and where several processes work on each", () => {
    const again = [
      ...[decode(400, [[2, 8, 6]]), decode(500, [[2, 14, 1]]), named(2, "b", 12)],
      ...[decode(200, [[0, 8, 4]], 9), named(0, "b", 12, 9)],
    ];
    const [, b, ...others] = engineRequests([...steps, ...again], TENSORS, 0n);
    expect(others).toEqual([]);
    expect(b).toMatchObject({ output_tokens: 4, reused_tokens: 8, sequence_id: 2, kv_bytes: 15n * 136n });
  });

  test("are counted as one where one asks for several answers, or searches by beams, and say so, with the prompt of each", () => {
    const [answer, beam] = ["cmpl-x-0-0a1b2c3d", "cmpl-y-0123456789abcdef-beam"];
    const several = [
      ...[
        decode(100, [[0, 0, 10]]),
        decode(200, [[1, 8, 2]]),
        named(0, `0_${answer}`, 10),
        named(1, `1_${answer}`, 10),
      ],
      ...[decode(300, [[2, 0, 4]]), decode(400, [[3, 0, 5]])],
      ...[named(2, `${beam}-0-00000001`, 4), named(3, `${beam.replace("0123", "ffff")}-0-00000002`, 5)],
    ];
    const figures = engineRequests(several, TENSORS, 0n);
    expect(figures.map(({ prompt_tokens }) => prompt_tokens)).toEqual([10, 10, 4, 5]);
    for (const { why } of figures) expect(why).toContain("one of 2 that the engine has of one request");
    expect(namedSummary(figures)).toMatchObject({ requests: 2, sequences: 4, prompt_tokens: 29 });
    // So a client may call its own.
    const alone = [decode(100, [[0, 0, 10]]), named(0, "0_mine-00000001", 10), decode(200, [[1, 0, 9]])];
    const two = engineRequests([...alone, named(1, "1_mine-00000002", 9)], TENSORS, 0n);
    expect(namedSummary(two)).toMatchObject({ requests: 2 });
    expect(namedSummary(two)).not.toHaveProperty("sequences");
    expect(two[0]?.why).not.toContain("one of");
  });

  test("have no answer of tokens where they are pooled, as for embeddings", () => {
    const pooled = row(900, "request", { request: "e", prompt_tokens: 10, generates: false }, { sequence_id: 0 });
    expect(engineRequests([decode(100, [[0, 0, 10]]), pooled], TENSORS, 0n)).toMatchObject([
      { prompt_tokens: 10, output_tokens: 0, kv_bytes: 10n * 128n },
    ]);
  });

  test("have no guesses that were not taken, and no count where their last step has some: nobody says what became of these", () => {
    const guessing = [decode(100, [[0, 0, 10]]), decode(200, [[0, 10, 4]]), named(0, "a", 10)];
    // Of three guesses one stays.
    expect(engineRequests([...guessing, decode(300, [[0, 12, 1]])], TENSORS, 0n)).toMatchObject([
      { output_tokens: 4, kv_bytes: 13n * 128n, why: expect.stringContaining("not ours") },
    ]);
    expect(engineRequests(guessing, TENSORS, 0n)).toMatchObject([
      { output_tokens: null, kv_bytes: null, reused_tokens: 0, why: expect.stringContaining("guesses") },
    ]);
    // What one that was put off had before counts, however far it comes again.
    const again = [decode(100, [[0, 0, 10]]), decode(200, [[0, 10, 1]]), decode(300, [[1, 0, 6]])];
    expect(engineRequests([...again, named(0, "a", 10), named(1, "a", 10)], TENSORS, 0n)).toMatchObject([
      { output_tokens: 2, sequence_id: 1 },
    ]);
  });

  test("are those of every process where each has requests of its own, with the bytes of its own cache", () => {
    const beside = [
      ...[decode(150, [[0, 0, 5]], 9), decode(250, [[0, 5, 1]], 9), decode(350, [[1, 0, 3]], 9)],
      named(0, "c", 5, 9),
    ];
    const all = [...steps, ...beside, row(400, "request", { request: "a", is_gone: true }, { sequence_id: 0 })];
    expect(engineRequests(all, TENSORS, 0n)).toMatchObject([
      { request_id: 1, request: "a", kv_bytes: 11n * 128n },
      { request_id: 2, request: "c", kv_bytes: 6n * 8n, output_tokens: 2 },
      { request_id: 3, request: "b", kv_bytes: 13n * 128n },
    ]);
    expect([underWay(all), unnamedSequences(all)]).toEqual([2, 1]);
    expect(unnamedSequences([...all, decode(500, [[7, 0, 3]])])).toBe(2);
  });

  test("say nothing of a prefix where they may have begun before the first step that was seen", () => {
    const late = [decode(100, [[0, 9, 1]]), named(0, "a", 12)];
    expect(engineRequests(late, TENSORS, 0n)).toMatchObject([{ reused_tokens: null, output_tokens: 0 }]);
  });

  test("have no more than their names where neither prompt nor cache is known", () => {
    const [a] = engineRequests([decode(100, [[0, 0, 10]]), named(0, "a", null)], [], 0n);
    expect(a).toMatchObject({ prompt_tokens: null, reused_tokens: null, output_tokens: null, kv_bytes: null });
    expect(engineRequests([decode(100, [[0, 0, 10]])], TENSORS, 0n)).toEqual([]);
  });

  test("are summed, without times that nobody knows", () => {
    expect(namedSummary(engineRequests(steps, TENSORS, 0n))).toMatchObject({
      ...{ requests: 2, answered: null, ttft_ms: null, prompt_tokens: 22, reused_tokens: 8, output_tokens: 4 },
      ...{ saved_bytes: 1024, streamed_tokens: null, why: null },
    });
  });
});

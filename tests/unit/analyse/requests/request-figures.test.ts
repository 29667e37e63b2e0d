import { describe, expect, test } from "bun:test";
import { requestBatches } from "../../../../src/analyse/requests/request-batches.ts";
import { requestFigure } from "../../../../src/analyse/requests/request-figures.ts";
import { notOurs, summaryOf, waitedInVain } from "../../../../src/analyse/requests/request-summary.ts";
import type { RequestRow } from "../../../../src/analyse/requests/sequence-batches.ts";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";

const ORIGIN = 1_000_000n;

function request(id: number, more: Partial<RequestRow> = {}): RequestRow {
  return {
    timestamp_ns: ORIGIN + 1000n,
    pid: 7,
    request_id: id,
    request: null,
    status: "answered",
    http_status: 200,
    first_token_ns: ORIGIN + 5000n,
    last_token_ns: ORIGIN + 9000n,
    end_ns: ORIGIN + 9100n,
    streamed_tokens: 5,
    token_gap_p50_ns: 1000n,
    token_gap_p99_ns: 1200n,
    token_gap_max_ns: 1300n,
    prompt_tokens: 20,
    evaluated_tokens: 8,
    output_tokens: 5,
    output_ns: 2000n,
    sequence_id: 1,
    ...more,
  };
}

/** What is told of requests, of which some held so many bytes. */
function requestFigures(rows: readonly RequestRow[], steps: readonly StepRow[], held: ReadonlyMap<number, bigint>) {
  const batches = requestBatches(rows, steps, ORIGIN);
  return rows.map((row, i) => requestFigure(row, batches[i] ?? null, ORIGIN, held.get(row.request_id) ?? null));
}

/** A batch of rows [sequence, first position, tokens]. */
function batch(begin_ns: number, rows: readonly [number, number, number][], pid = 8): StepRow {
  const n_tokens = rows.reduce((sum, [, , tokens]) => sum + tokens, 0);
  return {
    ...{ pid, engine: "llama.cpp", kind: "decode", begin_ns, end_ns: begin_ns + 100, n_tokens },
    ...{ n_sequences: rows.length, position_first: null, sequence_id: null, result: 0 },
    detail: JSON.stringify({ kv_rows: rows }),
  };
}

describe("the figures of requests", () => {
  const steps = [
    batch(500, [[1, 12, 8]]),
    batch(700, [[1, 23, 1]]),
    batch(1500, [[1, 40, 1]]),
    batch(3000, [
      [0, 3, 1],
      [1, 12, 8],
    ]),
    batch(4900, [[1, 20, 1]]),
    batch(5500, [[1, 21, 1]]),
    batch(6500, [[1, 22, 1]]),
    batch(7500, [
      [0, 4, 1],
      [1, 23, 1],
    ]),
    batch(9500, [[1, 23, 1]]),
  ];

  test("are the client's times, and the reuse of a prefix by the server's counts", () => {
    const [figure] = requestFigures([request(1)], steps, new Map([[1, 4096n]]));
    expect(figure).toMatchObject({
      ttft_ns: 4000n,
      generation_ns: 4000n,
      reused_tokens: 12,
      kv_bytes: 4096n,
      why: null,
    });
  });

  test("have no tokens of the client, nor a rate there, where several came in an event, and say so", () => {
    const gaps = { token_gap_p50_ns: null, token_gap_p99_ns: null, token_gap_max_ns: null };
    const bunched = request(1, { ...gaps, output_tokens: 20 });
    const [figure] = requestFigures([bunched], steps, new Map([[1, 4096n]]));
    expect(figure).toMatchObject({ streamed_tokens: null, output_tokens: 20, ttft_ns: 4000n });
    expect(figure?.why).toContain("5 events of its answer had 20 tokens");
    // The last event had what was left.
    const [whole] = requestFigures([request(1, gaps)], steps, new Map([[1, 4096n]]));
    expect(whole).toMatchObject({ streamed_tokens: 5 });
    expect(whole?.why).toContain("times between its tokens are not identifiable");
    const one = requestFigures([request(1, { ...gaps, streamed_tokens: 1, output_tokens: 1 })], steps, new Map());
    expect(one[0]?.why ?? "").not.toContain("events");
    // Of an answer without a token nothing came, whatever the server counts.
    const [none] = requestFigures(
      [request(1, { ...gaps, streamed_tokens: 0, first_token_ns: null })],
      steps,
      new Map(),
    );
    expect(none).toMatchObject({ streamed_tokens: 0, why: "no token came" });
    const all = requestFigures([bunched, request(2)], steps, new Map());
    expect(summaryOf(all)).toMatchObject({ streamed_tokens: null, bunched: 1, token_gap_ms: { p50: 0.001 } });
    expect(summaryOf(all).streamed_tokens_per_s).toBe(1e6);
    expect(summaryOf(all.slice(1))).not.toHaveProperty("bunched");
  });

  test("have the bytes of the rows that a prompt found in the cache, by what each token holds", () => {
    const saved = (row: Partial<RequestRow>, held: bigint | null = 24n * 64n) =>
      requestFigures([request(1, row)], steps, new Map(held === null ? [] : [[1, held]]))[0]?.saved_bytes;
    expect(saved({})).toBe(12n * 64n);
    // Nothing was in the cache: that is known whatever is known of rows.
    expect(saved({ evaluated_tokens: 20 }, null)).toBe(0n);
    expect(saved({}, null)).toBeNull();
    expect(saved({ evaluated_tokens: null })).toBeNull();
  });

  test("say how long one waited: until the batch that has its first token that was not in the cache", () => {
    const [figure] = requestFigures([request(1)], steps, new Map([[1, 1n]]));
    // Not the batch before it was sent, which begins at the same position.
    expect(figure?.wait_ns).toBe(2000n);
    const [first] = requestFigures([request(1, { timestamp_ns: ORIGIN + 3500n })], steps, new Map([[1, 1n]]));
    expect([first?.wait_ns, first?.why]).toEqual([null, "its first batch was not seen"]);
  });

  test("have the sequence that the server says, or that its batches alone fit, and who says it", () => {
    const [told, found, none] = requestFigures(
      [
        request(1),
        request(2, { sequence_id: null, evaluated_tokens: null }),
        request(3, { prompt_tokens: 19, sequence_id: null }),
      ],
      steps,
      new Map([[2, 24n * 64n]]),
    );
    expect(told).toMatchObject({ sequence_id: 1, sequence_by: "server" });
    expect(found).toMatchObject({
      ...{ sequence_id: 1, sequence_by: "batches", evaluated_tokens: 8, reused_tokens: 12, wait_ns: 2000n },
      ...{ kv_bytes: 24n * 64n, saved_bytes: 12n * 64n, why: null },
    });
    expect(none).toMatchObject({ sequence_id: null, sequence_by: null, wait_ns: null });
  });

  test("say why what is not known is not", () => {
    const why = (row: Partial<RequestRow>, of: readonly StepRow[] = steps, held = new Map<number, bigint>()) =>
      requestFigures([request(1, row)], of, held)[0]?.why;
    const none = { first_token_ns: null, last_token_ns: null };
    expect(why({ ...none, status: "refused", http_status: 503 })).toBe("it was refused with HTTP 503");
    expect(why({ ...none, status: "failed", http_status: null })).toBe("no answer came");
    expect(why({ ...none, status: "cut" })).toBe("no token came");
    expect(why({ sequence_id: null, prompt_tokens: 19 })).toContain("does not say which sequence it had");
    expect(why({ sequence_id: 5 })).toContain("no batch of its sequence");
    expect(why({ output_tokens: null })).toContain("how many tokens it had");
    expect(why({ output_tokens: 50 })).toBe("its last batch was not seen");
    expect(why({})).toBe("not all rows of its sequence are known");
    const untold = requestFigure(
      request(1),
      requestBatches([request(1)], steps, ORIGIN)[0] ?? null,
      ORIGIN,
      null,
      "too many",
    );
    expect(untold.why).toBe("too many");
    expect(why({}, [])).toContain("no batch of its sequence");
    expect(why({}, [...steps, batch(9900, [[1, 0, 1]], 9)])).toContain("one process that decodes");
    const [unsaid] = requestFigures([request(1, { prompt_tokens: 7 })], steps, new Map());
    expect(unsaid?.reused_tokens).toBeNull();
  });

  test("name the batch behind which the cache has all that a request put there", () => {
    const failed = request(2, { status: "failed", first_token_ns: null, last_token_ns: null });
    expect(requestBatches([request(1), failed], steps, ORIGIN)).toEqual([
      { first_ns: 3000, last_ns: 7500 },
      { first_ns: null, last_ns: null },
    ]);
  });

  test("name its own batches where its client hears of its tokens when the next request has its slot already", () => {
    const late = (times: Partial<RequestRow>, behind = batch(9700, [[1, 12, 14]])) =>
      requestBatches([request(1, { last_token_ns: ORIGIN + 9800n, ...times })], [...steps, behind], ORIGIN)[0];
    const own = { first_ns: 3000, last_ns: 7500 };
    expect(late({})).toEqual(own);
    // It begins where this one did, before the client heard of its first token.
    expect(late({ first_token_ns: ORIGIN + 9750n })).toEqual(own);
    // Its prompt is as long, and has as much in the cache.
    const alike = batch(9700, [[1, 12, 8]]);
    expect(late({ first_token_ns: ORIGIN + 9750n }, alike)).toEqual(own);
    // Of the only one that began there it is said, whatever was seen of its end.
    const cut = steps.slice(0, 4);
    expect(requestBatches([request(1)], cut, ORIGIN)).toEqual([{ first_ns: 3000, last_ns: null }]);
    // One that was sent before and had the slot first begins there too, and is none of it.
    const before = batch(2000, [[1, 12, 9]]);
    expect(requestBatches([request(1)], [before, ...steps], ORIGIN)).toEqual([own]);
  });

  test("name the last of those that worked on its last token: drafts are taken back and made anew", () => {
    const drafts = [
      batch(3000, [[1, 12, 8]]),
      batch(4000, [[1, 20, 4]]),
      batch(5000, [[1, 22, 4]]),
      batch(6000, [[1, 24, 1]]),
    ];
    expect(requestBatches([request(1)], drafts, ORIGIN)).toEqual([{ first_ns: 3000, last_ns: 5000 }]);
  });

  test("name none where a batch of the prompt is missing", () => {
    const lost = [batch(3000, [[1, 12, 4]]), batch(4000, [[1, 20, 1]]), batch(7500, [[1, 23, 1]])];
    expect(requestBatches([request(1)], lost, ORIGIN)).toEqual([{ first_ns: null, last_ns: null }]);
  });
});

describe("the sum of requests", () => {
  test("has quantiles of what is known, and sums of what every answer tells", () => {
    const held = new Map([
      [1, 100n],
      [2, 300n],
    ]);
    const rows = [request(1), request(2, { first_token_ns: ORIGIN + 7000n }), request(3, { status: "cut" })];
    const sum = summaryOf(requestFigures(rows, [], held));
    expect(sum).toMatchObject({ requests: 3, answered: 2, prompt_tokens: 40, reused_tokens: 24, output_tokens: 10 });
    // 12 of 24 tokens of each answer.
    expect(sum.saved_bytes).toBe(200);
    expect(summaryOf(requestFigures(rows, [], new Map([[1, 100n]]))).saved_bytes).toBeNull();
    expect([sum.streamed_tokens, sum.kv_bytes, sum.wait_ms]).toEqual([15, { p50: 200, p99: 298 }, null]);
    expect(sum.ttft_ms).toEqual({ p50: 0.004, p99: 0.00596 });
    expect(sum.retention_ms).toBeNull();
    const needed = requestFigures(rows, [], held).map((one, i) => ({
      ...one,
      retention_max_ns: i === 2 ? null : 2_000_000n,
    }));
    expect(summaryOf(needed).retention_ms).toEqual({ p50: 2, p99: 2 });
    const silent = summaryOf(requestFigures([request(1), request(2, { output_tokens: null })], [], held));
    expect([silent.output_tokens, silent.prompt_tokens]).toEqual([null, 40]);
  });

  test("has rates as the server tells them, without the first token of each, and by what came to the client", () => {
    const cut = request(3, { status: "cut", output_ns: null });
    const rates = (...rows: RequestRow[]) => {
      const sum = summaryOf(requestFigures(rows, [], new Map()));
      return [sum.engine_tokens_per_s, sum.engine_later_tokens_per_s, sum.streamed_tokens_per_s];
    };
    // 5 and 3 tokens in 2 us each, of which 4 and 2 behind the first; 4 of 5 in 4 us at the client, and 1 of 2 in 1 us.
    const short = request(2, { output_tokens: 3, streamed_tokens: 2, last_token_ns: ORIGIN + 6000n });
    expect(rates(request(1), short, cut)).toEqual([2e6, 1.5e6, 1e6]);
    // An answer that ended with its first token has no time of others.
    const single = request(2, { output_tokens: 1, output_ns: 0n, streamed_tokens: 1, last_token_ns: ORIGIN + 5000n });
    expect(rates(single)).toEqual([null, null, null]);
    expect(rates(request(1), single)).toEqual([3e6, 2e6, 1e6]);
    expect(rates(request(1), request(2, { output_ns: null }))).toEqual([null, null, 1e6]);
    expect(rates()).toEqual([null, null, null]);
  });

  test("has those among its times to which no token came: a quantile that they decide is a bound", () => {
    const none = { first_token_ns: null, last_token_ns: null };
    const sum = (...rows: RequestRow[]) => summaryOf(requestFigures(rows, steps, new Map()), waitedInVain(rows));
    const steps = [batch(3000, [[1, 12, 8]])];
    const silent = request(9, { ...none, status: "silent", end_ns: ORIGIN + 901_000n });
    const rows = Array.from({ length: 8 }, (_, i) => request(i + 1));
    expect(sum(...rows, silent).ttft_ms).toEqual({ p50: 0.004, p99: null, p99_at_least: expect.closeTo(0.82832, 9) });
    // Of one that was cut soon nobody knows on which side of the median it is.
    const cut = request(9, { ...none, status: "cut", end_ns: ORIGIN + 2000n });
    const slow = request(2, { first_token_ns: ORIGIN + 7000n });
    expect(sum(request(1), slow, cut).ttft_ms).toMatchObject({ p50: null, p50_at_least: 0.004 });
    // One that was refused did not wait, nor one whose answer has no token.
    const others = [request(9, { ...none, status: "refused", http_status: 503 }), request(10, none)];
    expect(sum(...rows, ...others).ttft_ms).toEqual({ p50: 0.004, p99: 0.004 });
    expect(sum(silent).ttft_ms).toBeNull();
  });

  test("is not identifiable where the client is not ours, and says what would make it known", () => {
    expect(notOurs()).toMatchObject({ requests: null, ttft_ms: null, kv_bytes: null });
    expect(notOurs().why).toMatch(/^not identifiable: .*run --serve/);
  });
});

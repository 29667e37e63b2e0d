import { describe, expect, test } from "bun:test";
import { fittedBatches, withFitted } from "../../../../src/analyse/requests/fitting-sequence.ts";
import type { RequestRow, SequenceBatch } from "../../../../src/analyse/requests/sequence-batches.ts";

/** A request sent at 1000, of a prompt of 20 tokens and an answer of 5, whose first token came at 5000 and whose last at 9000. */
const request = (request_id: number, more: Partial<RequestRow> = {}): RequestRow =>
  ({
    ...{ request_id, timestamp_ns: 1000n, first_token_ns: 5000n, last_token_ns: 9000n, sequence_id: null },
    ...{ prompt_tokens: 20, evaluated_tokens: null, output_tokens: 5 },
    ...more,
  }) as RequestRow;

const batch = (begin_ns: number, position: number, tokens = 1): SequenceBatch => ({ begin_ns, position, tokens });
/** A prompt from a position to 20, and answers of one token at a time up to a position. */
const answering = (begin_ns: number, position: number, end: number): SequenceBatch[] => [
  batch(begin_ns, position, 20 - position),
  ...Array.from({ length: end - 20 }, (_, k) => batch(begin_ns + 500 * (k + 1), 20 + k)),
];

const fitted = (requests: readonly RequestRow[], sequences: Readonly<Record<number, readonly SequenceBatch[]>>) =>
  [...fittedBatches(requests, new Map(Object.entries(sequences).map(([s, all]) => [Number(s), all])), 0n)].map(
    ([id, { fitted: found, first_ns, last_ns }]) => [id, found?.sequence, found?.evaluated_tokens, first_ns, last_ns],
  );

describe("the sequence of a request of which the server does not say it", () => {
  test("is the one whose batches begin after it was sent, in its prompt, and have all of its tokens by its last", () => {
    const others = {
      // Of a longer prompt, sent too early, over too late.
      2: [batch(2000, 0, 21), batch(2500, 21), batch(3000, 22), batch(3500, 23)],
      3: answering(900, 0, 24),
      4: answering(7500, 0, 24),
    };
    expect(fitted([request(1)], { 1: answering(2000, 12, 24), ...others })).toEqual([[1, 1, 8, 2000, 4000]]);
    expect(fitted([request(1)], others)).toEqual([]);
  });

  test("may have one token more, which its server throws away, and no more than that", () => {
    expect(fitted([request(1)], { 1: answering(2000, 0, 25) })).toEqual([[1, 1, 20, 2000, 4000]]);
    expect(fitted([request(1)], { 1: answering(2000, 0, 26) })).toEqual([]);
    expect(fitted([request(1)], { 1: answering(2000, 0, 23) })).toEqual([]);
  });

  test("begins with the first batch of a prompt that takes several", () => {
    const parts = [batch(2000, 4, 8), batch(2100, 12, 8), ...answering(2000, 0, 24).slice(1)];
    expect(fitted([request(1)], { 1: parts })).toEqual([[1, 1, 16, 2000, 4000]]);
  });

  test("is none where two fit, but where one of them is another request's", () => {
    const two = { 1: answering(2000, 0, 24), 2: answering(2100, 0, 24) };
    expect(fitted([request(1)], two)).toEqual([]);
    expect(fitted([request(1), request(2)], two)).toEqual([]);
    // Sent after the first of them had begun.
    expect(fitted([request(1), request(2, { timestamp_ns: 2050n })], two)).toEqual([
      [2, 2, 20, 2100, 4100],
      [1, 1, 20, 2000, 4000],
    ]);
  });

  test("is none of two requests that only one fits", () => {
    expect(fitted([request(1), request(2)], { 1: answering(2000, 0, 24) })).toEqual([]);
  });

  test("begins where the server says how many tokens it worked on", () => {
    const two = { 1: answering(2000, 0, 24), 2: answering(2100, 12, 24) };
    expect(fitted([request(1, { evaluated_tokens: 8 })], two)).toEqual([[1, 2, 8, 2100, 4100]]);
  });

  test("is not asked for where the server says it, or does not count tokens, or no token came", () => {
    const sequences = { 1: answering(2000, 0, 24) };
    for (const row of [{ sequence_id: 1 }, { prompt_tokens: null }, { output_tokens: null }, { first_token_ns: null }])
      expect(fitted([request(1, row)], sequences)).toEqual([]);
  });

  test("stands in the request, with what was worked on of its prompt where the server does not say it", () => {
    const found = { first_ns: 1, last_ns: 2, fitted: { sequence: 3, evaluated_tokens: 8 } };
    expect(withFitted(request(1), found)).toMatchObject({ sequence_id: 3, evaluated_tokens: 8 });
    expect(withFitted(request(1, { evaluated_tokens: 7 }), found)).toMatchObject({ evaluated_tokens: 7 });
    expect(withFitted(request(1), { first_ns: 1, last_ns: 2 })).toEqual(request(1));
    expect(withFitted(request(1), null)).toEqual(request(1));
  });
});

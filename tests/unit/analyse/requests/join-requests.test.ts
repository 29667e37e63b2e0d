import { describe, expect, test } from "bun:test";
import { joinedRequests } from "../../../../src/analyse/requests/join-requests.ts";
import { NOTHING_KEPT, type RequestFigure, requestFigure } from "../../../../src/analyse/requests/request-figures.ts";
import { summaryOf } from "../../../../src/analyse/requests/request-summary.ts";
import type { RequestRow } from "../../../../src/analyse/requests/sequence-batches.ts";

const row = (request_id: number, request: string | null, more: Partial<RequestRow> = {}): RequestRow => ({
  ...{ request_id, request, timestamp_ns: 1000n, pid: 7, status: "answered", http_status: 200 },
  ...{ first_token_ns: 5000n, last_token_ns: 9000n, end_ns: 9100n, streamed_tokens: 5 },
  ...{ token_gap_p50_ns: 1000n, token_gap_p99_ns: 1200n, token_gap_max_ns: 1300n, output_ns: null, sequence_id: null },
  ...{ prompt_tokens: 20, evaluated_tokens: null, output_tokens: 5 },
  ...more,
});
const ours = (...rows: readonly RequestRow[]) =>
  rows.map((one) => ({ row: one, figure: requestFigure(one, null, 0n, null) }));
const named = (request: string, more: Partial<RequestFigure> = {}): RequestFigure => ({
  ...{ request_id: 1, request, timestamp_ns: 3000n, status: "served", ttft_ns: null, wait_ns: null },
  ...{ token_gap_p50_ns: null, token_gap_p99_ns: null, token_gap_max_ns: null, generation_ns: 5000n },
  ...{ prompt_tokens: 20, evaluated_tokens: 8, reused_tokens: 12, output_tokens: 5, output_ns: null },
  ...{
    streamed_tokens: null,
    sequence_id: 3,
    sequence_by: "engine",
    kv_bytes: 2400n,
    saved_bytes: 1200n,
    why: "its client is not ours",
  },
  ...NOTHING_KEPT,
  ...more,
});

describe("requests of our client that the engine names", () => {
  test("have the times of the client, and the wait, the prefix and the bytes of the engine", () => {
    const [figure, ...others] = joinedRequests(ours(row(1, "cmpl-a")), [named("cmpl-a-0-f00d")]);
    expect(others).toEqual([]);
    expect(figure).toMatchObject({
      ...{ request_id: 1, request: "cmpl-a-0-f00d", status: "answered", timestamp_ns: 1000n, why: null },
      ...{ ttft_ns: 4000n, generation_ns: 4000n, token_gap_p50_ns: 1000n, streamed_tokens: 5 },
      ...{
        wait_ns: 2000n,
        sequence_id: 3,
        evaluated_tokens: 8,
        reused_tokens: 12,
        kv_bytes: 2400n,
        saved_bytes: 1200n,
      },
    });
  });

  test("say why no row of any sequence is known", () => {
    const untold = "the run holds more than 5 tokens";
    const [figure] = joinedRequests(ours(row(1, "a")), [named("a", { kv_bytes: null })], untold);
    expect(figure?.why).toBe(untold);
    const [other] = joinedRequests(ours(row(1, "a")), [named("a", { kv_bytes: null })]);
    expect(other?.why).toBe("not all rows of its sequence are known");
  });

  test("are found where they were cut before an answer came, by the name that they were sent with, and of chats too", () => {
    const cut = { status: "cut", http_status: null, first_token_ns: null, last_token_ns: null } as const;
    const [figure] = joinedRequests(ours(row(1, "chatcmpl-a1", cut)), [
      named("chatcmpl-a1-f00d"),
      named("cmpl-a1-0-f00d"),
    ]);
    expect(figure).toMatchObject({ status: "cut", request: "chatcmpl-a1-f00d", wait_ns: 2000n, ttft_ns: null });
  });

  test("are found by the whole name in the answer alone, and by one name alone", () => {
    const whole = joinedRequests(ours(row(1, "cmpl-a")), [named("cmpl-ab-0-f00d")]);
    expect(whole[0]).toMatchObject({ request: null, wait_ns: null, why: expect.stringContaining("named none") });
    const several = joinedRequests(ours(row(1, "cmpl-a")), [named("cmpl-a-0-f00d"), named("cmpl-a-1-beef")]);
    expect(several[0]).toMatchObject({ request: null, why: expect.stringContaining("several") });
  });

  test("are not those which the engine worked on before they were sent, or after they had ended", () => {
    for (const timestamp_ns of [999n, 9101n]) {
      const [figure] = joinedRequests(ours(row(1, "a")), [named("a", { timestamp_ns })]);
      expect(figure).toMatchObject({ request: null, kv_bytes: null });
    }
  });

  test("keep what the server says of their tokens, and say why they are not joined where the answer has no name", () => {
    const [counted] = joinedRequests(ours(row(1, "a", { evaluated_tokens: 20 })), [named("a")]);
    expect(counted).toMatchObject({ evaluated_tokens: 20, reused_tokens: 0 });
    const [cut] = joinedRequests(ours(row(1, null, { status: "cut", first_token_ns: null })), [named("a")]);
    expect(cut).toMatchObject({ request: null, status: "cut", why: expect.stringContaining("its answer has no name") });
  });

  test("stand before those of others, and both are counted", () => {
    const figures = joinedRequests(ours(row(4, "a"), row(5, "b")), [named("c"), named("a")]);
    expect(figures.map(({ request_id, request, status }) => [request_id, request, status])).toEqual([
      [4, "a", "answered"],
      [5, null, "answered"],
      [6, "c", "served"],
    ]);
    expect(summaryOf(figures)).toMatchObject({ requests: 2, answered: 2, joined: 1, others: 1, saved_bytes: null });
    // Of others nothing is in the sums.
    expect(summaryOf(figures).output_tokens).toBe(10);
    expect(summaryOf(figures).kv_bytes).toEqual({ p50: 2400, p99: 2400 });
    const alone = joinedRequests(ours(row(4, "a")), [named("a")]);
    expect(summaryOf(alone)).toMatchObject({ joined: 1, others: 0, saved_bytes: 1200, reused_tokens: 12 });
  });

  test("are as they were where the engine names none", () => {
    const all = ours(row(1, "a"), row(2, null));
    expect(joinedRequests(all, [])).toEqual(all.map(({ figure }) => figure));
    expect(summaryOf(joinedRequests(all, []))).not.toHaveProperty("joined");
  });
});

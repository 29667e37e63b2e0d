import { afterAll, describe, expect, test } from "bun:test";
import { serveBlock } from "../../../src/compare/served-block.ts";
import { figuresByClient, servedFigures, servedTokens } from "../../../src/compare/served-figures.ts";

const servers: { stop: (force?: boolean) => unknown }[] = [];
afterAll(() => {
  for (const server of servers) server.stop(true);
});

const TOKEN = 'data: {"content":"a","stop":false}\n\n';
const END = 'data: {"stop":true,"timings":{"prompt_n":7,"predicted_n":2,"predicted_ms":1.5}}\n\n';

/** A server that answers each request by its number, from 0. */
function serverOf(answer: (number: number, asked: Request) => Response | Promise<Response>): string {
  let requests = 0;
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => answer(requests++, request) });
  servers.push(server);
  return `http://127.0.0.1:${server.port}`;
}

const request = (url: string) => ({
  ...{ url, api: "llama-server" as const, prompt: "p", tokens: 2, reuse: false, model: null },
  signal: AbortSignal.timeout(20_000),
});

describe("a block of requests", () => {
  test("has as many under way as there are clients, each of which asks until the time is over", async () => {
    let underWay = 0;
    let most = 0;
    const url = serverOf(async (number) => {
      underWay += 1;
      most = Math.max(most, underWay);
      // The first ones, which warm it up, wait for each other: all clients are there at once.
      while (number < 3 && most < 3) await Bun.sleep(1);
      underWay -= 1;
      return new Response(TOKEN + TOKEN + END);
    });
    const { clients, began_ns, over_ns } = await serveBlock(request(url), { block_ns: 200e6, clients: 3 });
    expect([most, clients.length, over_ns - began_ns]).toEqual([3, 3, 200_000_000n]);
    for (const answers of clients) {
      expect(answers.length).toBeGreaterThan(0);
      expect(answers.every(({ tokens, counts }) => tokens === 2 && counts?.output_tokens === 2)).toBe(true);
    }
  });

  test("ends for all clients with the first request that fails", async () => {
    const url = serverOf((number) => {
      // One client never gets an answer, the next is refused.
      if (number === 2) return new Response(new ReadableStream({ start() {} }));
      return number < 2 ? new Response(TOKEN + END) : new Response("no", { status: 500 });
    });
    expect(serveBlock(request(url), { block_ns: 60e9, clients: 2 })).rejects.toThrow("answered 500");
  });
});

describe("the figures of a block", () => {
  const counts = { prompt_tokens: 9, evaluated_tokens: 7, output_tokens: 3, output_ns: 4e6, sequence_id: null };
  /** Tokens at the time of the first and after each gap. */
  const answer = (first_ms: number, gaps_ms: readonly number[], ttft_ms: number) => ({
    ...{ first_token_ns: BigInt(first_ms * 1e6), gaps_ms, is_each_timed: true, ttft_ms, counts },
    ...{ sent_ns: 0n, last_token_ns: null, end_ns: 0n, name: null },
    tokens: gaps_ms.length + 1,
  });
  const block = {
    began_ns: 100_000_000n,
    over_ns: 200_000_000n,
    clients: [
      [answer(110, [1, 3], 10), answer(150, [1, 3], 20)],
      // What comes behind the end of the time counts for each answer, and not for what all clients got in it.
      [answer(195, [4, 6], 60)],
    ],
  };

  test("are of single answers, and of what all clients together got while all of them asked", () => {
    expect(servedFigures(block)).toEqual({
      tokens_per_s: 6 / 0.018,
      served_tokens_per_s: 80,
      engine_tokens_per_s: 750,
      ttft_ms: 20,
      token_p50_ms: 3,
      token_p99_ms: expect.closeTo(5.9, 6),
      wall_s: null,
    });
    expect(servedTokens(block)).toEqual({ streamed_tokens: 9, engine_tokens: 9, engine_prompt_tokens: 21 });
  });

  test("are told of each client", () => {
    expect(figuresByClient(block)).toEqual([
      { requests: 2, streamed_tokens: 6, ttft_ms: 15, token_p50_ms: 2, token_p99_ms: 3 },
      { requests: 1, streamed_tokens: 3, ttft_ms: 60, token_p50_ms: 5, token_p99_ms: expect.closeTo(5.98, 6) },
    ]);
  });

  test("have times between tokens of those answers alone of which events tell them", () => {
    const bunched = { ...answer(110, [9, 0], 10), is_each_timed: false };
    const some = { ...block, clients: [[bunched], [answer(195, [4, 6], 60)]] };
    expect(servedFigures(some)).toMatchObject({ tokens_per_s: 4 / 0.019, token_p50_ms: 5 });
    expect(figuresByClient(some).map(({ token_p50_ms }) => token_p50_ms)).toEqual([null, 5]);
  });

  test("are not known where nothing came, and the engine's only where it tells them of every answer", () => {
    const silent = { ...block, clients: [[answer(110, [1], 1)], [{ ...answer(120, [1], 1), counts: null }]] };
    expect(servedFigures(silent).engine_tokens_per_s).toBeNull();
    expect(servedTokens(silent)).toEqual({ streamed_tokens: 4, engine_tokens: null, engine_prompt_tokens: null });
    const nothing = { ...block, clients: [[], []] };
    expect(Object.values(servedFigures(nothing)).every((value) => value === null)).toBe(true);
    expect(servedTokens(nothing)).toEqual({ streamed_tokens: 0, engine_tokens: null, engine_prompt_tokens: null });
    expect(figuresByClient(nothing)[0]).toMatchObject({ requests: 0, ttft_ms: null, token_p50_ms: null });
  });
});

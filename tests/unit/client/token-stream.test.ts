import { afterAll, describe, expect, test } from "bun:test";
import { exchange, streamTokens } from "../../../src/client/token-stream.ts";

const ASKED = { api: "llama-server" as const, prompt: "p", reuse: false, model: null };
const servers: { stop: (force?: boolean) => unknown }[] = [];
afterAll(() => {
  for (const server of servers) server.stop(true);
});

/** A server that sends these pieces of an event stream with 10 ms between them. */
function serverOf(pieces: readonly string[], status = 200): string {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch() {
      const body = new ReadableStream({
        async start(controller) {
          for (const piece of pieces) {
            controller.enqueue(new TextEncoder().encode(piece));
            await Bun.sleep(10);
          }
          controller.close();
        },
      });
      return new Response(body, { status });
    },
  });
  servers.push(server);
  return `http://127.0.0.1:${server.port}`;
}

const ask = (url: string) => streamTokens({ url, ...ASKED, tokens: 3, signal: AbortSignal.timeout(5000) });
const token = (text: string): string => `data: {"content":${JSON.stringify(text)},"stop":false}\n\n`;
const END = 'data: {"content":"","stop":true,"timings":{}}\n\n';

describe("a streamed completion", () => {
  test("has one time for each token, empty ones too, and none for the end", async () => {
    const { ttft_ms, gaps_ms } = await ask(serverOf([token("a"), token(""), token("c"), END]));
    expect(gaps_ms).toHaveLength(2);
    expect(Math.min(...gaps_ms)).toBeGreaterThanOrEqual(0);
    expect(ttft_ms).toBeGreaterThan(0);
    // Sent 20 ms after the first; on a busy machine several may arrive in one piece.
    expect(gaps_ms.reduce((sum, gap) => sum + gap, ttft_ms)).toBeGreaterThan(15);
  });

  test("has as many tokens as its events say, where several come in one, the last event among them", async () => {
    const holding = (tokens: number): string => `data: {"content":"a","stop":false,"tokens_predicted":${tokens}}\n\n`;
    const ending = (tokens: number): string => `data: {"content":"","stop":true,"tokens_predicted":${tokens}}\n\n`;
    const asked = (...pieces: string[]) =>
      streamTokens({ url: serverOf(pieces), ...ASKED, tokens: 7, signal: AbortSignal.timeout(5000) });
    const answer = await asked(holding(1), holding(2), holding(5), ending(6));
    expect([answer.tokens, answer.gaps_ms.length]).toEqual([6, 5]);
    // Three tokens of one event have a third of its time each.
    expect(new Set(answer.gaps_ms.slice(1, 4)).size).toBe(1);
    // More than were asked for is no count: each event is a token again, and the end is none.
    expect((await asked(holding(1), holding(9e8), ending(9e8))).tokens).toBe(2);
    expect((await asked(holding(3), holding(2), ending(3))).tokens).toBe(3);
  });

  test("has no times of single tokens where the server counts at the end alone, and more than came one in an event", async () => {
    const isTimed = async (api: "openai" | "ollama", tokens: number, pieces: readonly string[]) => {
      const answer = await exchange({
        url: serverOf(pieces),
        ...ASKED,
        api,
        tokens,
        signal: AbortSignal.timeout(5000),
      });
      expect(answer.is_whole).toBe(true);
      return [answer.tokens, answer.is_each_timed];
    };
    const text = (usage: object = {}) => `data: ${JSON.stringify({ choices: [{ text: "a b" }], ...usage })}\n\n`;
    const counted = (completion_tokens: number) => ({ usage: { prompt_tokens: 3, completion_tokens } });
    const ending = (tokens: number) => [
      `data: ${JSON.stringify({ choices: [], ...counted(tokens) })}\n\n`,
      "data: [DONE]\n\n",
    ];
    const four = [text(), text(), text(), text()];
    expect(await isTimed("openai", 20, [...four, ...ending(10)])).toEqual([4, false]);
    expect(await isTimed("openai", 20, [...four, ...ending(4)])).toEqual([4, true]);
    // The word that ends an answer has no text; none came where it was as long as it was asked to be.
    expect(await isTimed("openai", 20, [...four, ...ending(5)])).toEqual([4, true]);
    expect(await isTimed("openai", 5, [...four, ...ending(5)])).toEqual([4, false]);
    // Where each event says how many there are by then, they share its time.
    expect(await isTimed("openai", 20, [text(counted(1)), text(counted(10)), ...ending(10)])).toEqual([10, true]);
    const line = (part: object) => `${JSON.stringify(part)}\n`;
    const said = (eval_count: number) => line({ response: "", done: true, prompt_eval_count: 3, eval_count });
    const three = [1, 2, 3].map(() => line({ response: "a", done: false }));
    expect(await isTimed("ollama", 20, [...three, said(9)])).toEqual([9, false]);
    expect(await isTimed("ollama", 20, [...three, said(4)])).toEqual([4, true]);
    expect(await isTimed("ollama", 3, [...three, said(3)])).toEqual([3, true]);
  });

  test("may come in pieces that end inside a line", async () => {
    const whole = token("a") + token("b") + END;
    const pieces = [whole.slice(0, 9), whole.slice(9, 50), whole.slice(50)];
    expect((await ask(serverOf(pieces))).gaps_ms).toHaveLength(1);
  });

  test("is whole where its last event has no end of its line, and not where it was cut in its midst", async () => {
    const lastOf = (pieces: readonly string[], api: "openai" | "llama-server" = "openai") =>
      exchange({ url: serverOf(pieces), ...ASKED, api, tokens: 3, signal: AbortSignal.timeout(5000) });
    const chunk = 'data: {"choices":[{"text":"a"}]}\n\n';
    expect(await lastOf([chunk, "data: [DO", "NE]"])).toMatchObject({ tokens: 1, is_whole: true });
    expect(await lastOf([token("a"), END.trimEnd()], "llama-server")).toMatchObject({ tokens: 1, is_whole: true });
    for (const cut of [6, 20, 40]) {
      expect(await lastOf([token("a"), END.slice(0, cut)], "llama-server")).toMatchObject({
        tokens: 1,
        is_whole: false,
      });
    }
    expect(await lastOf([chunk, chunk.slice(0, 25)])).toMatchObject({ tokens: 1, is_whole: false });
  });

  test("has what the engine counts where its last event says so, and nothing of what cannot be meant", async () => {
    const ending = (timings: string): string => `data: {"stop":true,"timings":${timings}}\n\n`;
    const answer = await ask(serverOf([token("a"), ending('{"prompt_n":7,"predicted_n":3,"predicted_ms":12.5}')]));
    const counted = { evaluated_tokens: 7, output_tokens: 3, output_ns: 12_500_000 };
    expect(answer.counts).toEqual({ ...counted, prompt_tokens: null, sequence_id: null });
    const whole = `{"prompt_n":7,"predicted_n":3,"predicted_ms":12.5},"tokens_evaluated":9,"id_slot":2`;
    const { counts } = await ask(serverOf([token("a"), ending(whole)]));
    expect(counts).toEqual({ ...counted, prompt_tokens: 9, sequence_id: 2 });
    // A prompt has no fewer tokens than were worked on.
    const less = whole.replace('"tokens_evaluated":9,"id_slot":2', '"tokens_evaluated":6,"id_slot":-1');
    const fewer = await ask(serverOf([token("a"), ending(less)]));
    expect(fewer.counts).toEqual({ ...counted, prompt_tokens: null, sequence_id: null });
    const wrong = ['{"prompt_n":7,"predicted_n":-3,"predicted_ms":1}', '{"prompt_n":7}', "[]", '"NaN"', "{"];
    for (const timings of wrong) expect((await ask(serverOf([token("a"), ending(timings)]))).counts).toBeNull();
  });

  test("is an error where the server sends a line without an end", async () => {
    const endless = Array.from({ length: 5 }, () => `data: ${"x".repeat(2 ** 18)}`);
    expect(ask(serverOf(endless))).rejects.toThrow("more than an answer has");
  });

  test("is an error where the server refuses or says nothing", async () => {
    expect(ask(serverOf(["no"], 500))).rejects.toThrow("answered 500");
    expect(ask(serverOf([END]))).rejects.toThrow("no token");
  });
});

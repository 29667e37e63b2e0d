import { afterAll, describe, expect, test } from "bun:test";
import { streamTokens } from "../../../src/compare/token-stream.ts";

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

const ask = (url: string) => streamTokens({ url, prompt: "p", tokens: 3, signal: AbortSignal.timeout(5000) });
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

  test("may come in pieces that end inside a line", async () => {
    const whole = token("a") + token("b") + END;
    const pieces = [whole.slice(0, 9), whole.slice(9, 50), whole.slice(50)];
    expect((await ask(serverOf(pieces))).gaps_ms).toHaveLength(1);
  });

  test("is an error where the server refuses or says nothing", async () => {
    expect(ask(serverOf(["no"], 500))).rejects.toThrow("answered 500");
    expect(ask(serverOf([END]))).rejects.toThrow("no token");
  });
});

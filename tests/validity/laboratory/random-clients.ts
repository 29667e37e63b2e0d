/** Clients of a llama-server that ask at random: prompts and answers of lognormal length, pauses, and some who go away. */
import { normalDraw } from "../../../src/statistics/normal.ts";
import { type Random, seededRandom } from "../../../src/statistics/prng.ts";
import { exponential } from "./shapes.ts";

/** What most prompts begin with. */
const SHARED = "You answer in short words, and you count to ten before you do. ";
/** The server closes idle connections; a request on one that it is closing would fail. */
const ALONE = { keepalive: false, headers: { connection: "close" } };

/** A port that nobody listens on now. */
export function freePort(): number {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop(true);
  return port;
}

/** @throws Error after a minute */
export async function untilReady(port: number): Promise<void> {
  for (let i = 0; i < 600; i++) {
    if ((await fetch(`http://127.0.0.1:${port}/health`, ALONE).catch(() => null))?.ok) return;
    await Bun.sleep(100);
  }
  throw new Error("the server did not become ready");
}

const lognormal = (random: Random, median: number, sigma: number): number =>
  Math.round(median * Math.exp(sigma * normalDraw(random)));

/** Reads an answer until so many parts of it have come, and hangs up. */
async function hangUpAfter(parts: number, body: ReadableStream<Uint8Array> | null): Promise<void> {
  const reader = body?.getReader();
  for (let i = 0; i < parts; i++) if ((await reader?.read())?.done !== false) break;
  await reader?.cancel();
}

/** How a server is asked for a streamed completion. */
export interface Asking {
  readonly path: string;
  body(prompt: string, tokens: number): object;
}

const LLAMA_SERVER: Asking = {
  path: "/completion",
  body: (prompt, tokens) => ({ prompt, n_predict: tokens, ignore_eos: true, stream: true, cache_prompt: true }),
};

/**
 * Each client asks, waits for its answer, and rests, until the time is over; what goes on then is awaited. Of twenty one hangs up, in
 * the midst of its answer.
 * @returns how many requests there were
 */
export async function askAtRandom(
  port: number,
  clients: number,
  seconds: number,
  seed: number,
  { path, body }: Asking = LLAMA_SERVER,
): Promise<number> {
  const until = performance.now() + 1000 * seconds;
  let asked = 0;
  const client = async (_: unknown, number: number): Promise<void> => {
    const random = seededRandom(seed, number);
    while (performance.now() < until) {
      await Bun.sleep(300 * exponential(random));
      const words = Array.from({ length: 1 + Math.min(30, lognormal(random, 4, 0.8)) }, () => random().toString(36)[2]);
      const prompt = (random() < 0.6 ? SHARED : "") + words.join(" ");
      const n_predict = 1 + Math.min(300, lognormal(random, 20, 0.8));
      const isGivenUp = random() < 0.05;
      asked += 1;
      const headers = { ...ALONE.headers, "content-type": "application/json" };
      const question = { ...ALONE, headers, method: "POST", body: JSON.stringify(body(prompt, n_predict)) };
      const response = await fetch(`http://127.0.0.1:${port}${path}`, question);
      if (isGivenUp) await hangUpAfter(Math.floor(n_predict * random()), response.body);
      else await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return asked;
}

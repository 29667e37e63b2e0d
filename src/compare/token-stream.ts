/** One streamed completion of a llama-server, as a client sees it: when each token came. */
import { MrmTraceError } from "../errors.ts";
import { type EngineTimings, engineTimings } from "./engine-timings.ts";

/** Far more than any event and any answer have: what a server sends beyond is no answer. */
const [MOST_LINE_CHARS, MOST_BYTES] = [2 ** 20, 2 ** 26];
const HINT = "check that the command is a llama-server, which --serve drives, and what it prints";

export interface StreamedTokens {
  /** From sending to the first token, in ms. */
  readonly ttft_ms: number;
  /** Tokens that came, by what each event says. */
  readonly tokens: number;
  /** From each token to the next, in ms; those that came in one event share its time. */
  readonly gaps_ms: readonly number[];
  /** What the server says of the same tokens; null where it says nothing that can be read. */
  readonly engine: EngineTimings | null;
}

export interface TokenRequest {
  readonly url: string;
  readonly prompt: string;
  readonly tokens: number;
  readonly signal: AbortSignal;
}

/** Data lines of a server-sent event stream, each when it is whole. @throws MrmTraceError target, where they are too long */
async function* dataLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (bytes > MOST_BYTES || rest.length > MOST_LINE_CHARS) {
      throw new MrmTraceError("target", "the server sent more than an answer has", HINT);
    }
    for (const line of lines) if (line.startsWith("data:")) yield line.slice(5);
  }
}

/**
 * Tokens of the answer up to an event, as llama-server says in each: a token whose character is not whole yet has no event
 * of its own. Null where an event says nothing that can be meant.
 */
function tokensSoFar(event: string, most: number): number | null {
  const said = Number(/"tokens_predicted":\s*(\d{1,9})\b/.exec(event)?.[1] ?? Number.NaN);
  return said <= most ? said : null;
}

/**
 * Asks for a completion and reads its stream to the end. An event that does not say how many tokens there are by now is
 * one token.
 * @throws MrmTraceError target, where the server refuses or tells no token; what `signal` carries
 */
export async function streamTokens({ url, prompt, tokens, signal }: TokenRequest): Promise<StreamedTokens> {
  const body = { prompt, n_predict: tokens, stream: true, ignore_eos: true, temperature: 0, cache_prompt: false };
  const sent = performance.now();
  const response = await fetch(`${url}/completion`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", connection: "close" },
    keepalive: false,
    signal,
  });
  if (!response.ok || response.body === null) {
    throw new MrmTraceError("target", `the server answered ${response.status} to a completion`, HINT);
  }
  let first_ms: number | null = null;
  let last_ms = sent;
  let received = 0;
  const gaps_ms: number[] = [];
  let engine: EngineTimings | null = null;
  for await (const line of dataLines(response.body)) {
    const now = performance.now();
    const isLast = /"stop":\s*true/.test(line);
    const soFar = tokensSoFar(line, tokens);
    const fresh = soFar === null ? (isLast ? 0 : 1) : Math.max(0, soFar - received);
    if (fresh > 0) {
      if (first_ms !== null) for (let i = 0; i < fresh; i++) gaps_ms.push((now - last_ms) / fresh);
      first_ms ??= now;
      last_ms = now;
      received += fresh;
    }
    if (isLast) {
      engine = engineTimings(line);
      break;
    }
  }
  if (first_ms === null) throw new MrmTraceError("target", "the server streamed no token", HINT);
  return { ttft_ms: first_ms - sent, tokens: received, gaps_ms, engine };
}

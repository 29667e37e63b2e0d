/** One streamed completion of a llama-server, as a client sees it: when each token came. */
import { MrmTraceError } from "../errors.ts";

export interface StreamedTokens {
  /** From sending to the first token, in ms. */
  readonly ttft_ms: number;
  /** From each token to the next, in ms. */
  readonly gaps_ms: readonly number[];
}

export interface TokenRequest {
  readonly url: string;
  readonly prompt: string;
  readonly tokens: number;
  readonly signal: AbortSignal;
}

/** Data lines of a server-sent event stream, each when it is whole. */
async function* dataLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data:")) yield line.slice(5);
  }
}

/**
 * Asks for a completion and reads its stream to the end. Every event but the last is one token, also where its text is
 * still empty because a character is not whole.
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
  const hint = "check that the command is a llama-server, which --serve drives, and what it prints";
  if (!response.ok || response.body === null) {
    throw new MrmTraceError("target", `the server answered ${response.status} to a completion`, hint);
  }
  const times: number[] = [];
  for await (const line of dataLines(response.body)) {
    const now = performance.now();
    if (/"stop":\s*true/.test(line)) break;
    times.push(now);
  }
  const [first] = times;
  if (first === undefined) throw new MrmTraceError("target", "the server streamed no token", hint);
  return { ttft_ms: first - sent, gaps_ms: times.slice(1).map((time, i) => time - (times[i] ?? time)) };
}

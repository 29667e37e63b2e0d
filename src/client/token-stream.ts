/** One streamed completion of a llama-server, as a client sees it: when each token came. */
import { MrmTraceError } from "../errors.ts";
import { monotonicNs } from "../kernel/libc.ts";
import { type EngineTimings, engineTimings } from "./engine-timings.ts";

/** Far more than any event and any answer have: what a server sends beyond is no answer. */
const [MOST_LINE_CHARS, MOST_BYTES] = [2 ** 20, 2 ** 26];
const HINT = "check that the command is a llama-server, which --serve drives, and what it prints";

/** What became of one request, however it ended. */
export interface Exchange {
  /** ns of CLOCK_MONOTONIC, as the next three. */
  readonly sent_ns: bigint;
  readonly first_token_ns: bigint | null;
  readonly last_token_ns: bigint | null;
  readonly end_ns: bigint;
  /** Null where no answer came. */
  readonly http_status: number | null;
  /** Tokens that came, by what each event says. */
  readonly tokens: number;
  /** From each token to the next, in ms; those that came in one event share its time. */
  readonly gaps_ms: readonly number[];
  /** What the server says of the same tokens; null where it says nothing that can be read. */
  readonly engine: EngineTimings | null;
  /** True once its last event came. */
  readonly is_whole: boolean;
  /** Why it is not whole; null where it is, or where the server just ended it. */
  readonly failure: Error | null;
}

export interface StreamedTokens extends Pick<Exchange, "tokens" | "gaps_ms" | "engine"> {
  /** From sending to the first token, in ms. */
  readonly ttft_ms: number;
}

export interface TokenRequest {
  readonly url: string;
  /** A text, or the numbers of its tokens. */
  readonly prompt: string | readonly number[];
  readonly tokens: number;
  /** Whether the server may take over what it has of an earlier prompt that begins alike. */
  readonly reuse: boolean;
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

const msBetween = (from_ns: bigint, to_ns: bigint): number => Number(to_ns - from_ns) / 1e6;

/**
 * Asks for a completion and reads its stream to the end, or to its failure, which it tells and does not throw. An event
 * that does not say how many tokens there are by now is one token.
 */
export async function exchange({ url, prompt, tokens, reuse, signal }: TokenRequest): Promise<Exchange> {
  const body = { prompt, n_predict: tokens, stream: true, ignore_eos: true, temperature: 0, cache_prompt: reuse };
  const sent_ns = monotonicNs();
  let http_status: number | null = null;
  let first_token_ns: bigint | null = null;
  let last_token_ns: bigint | null = null;
  let received = 0;
  const gaps_ms: number[] = [];
  let engine: EngineTimings | null = null;
  let is_whole = false;
  let failure: Error | null = null;
  try {
    const response = await fetch(`${url}/completion`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", connection: "close" },
      keepalive: false,
      signal,
    });
    http_status = response.status;
    if (!response.ok || response.body === null) {
      await response.body?.cancel();
      throw new MrmTraceError("target", `the server answered ${response.status} to a completion`, HINT);
    }
    for await (const line of dataLines(response.body)) {
      const now_ns = monotonicNs();
      const isLast = /"stop":\s*true/.test(line);
      const soFar = tokensSoFar(line, tokens);
      const fresh = soFar === null ? (isLast ? 0 : 1) : Math.max(0, soFar - received);
      if (fresh > 0) {
        const gap_ms = last_token_ns === null ? null : msBetween(last_token_ns, now_ns) / fresh;
        if (gap_ms !== null) for (let i = 0; i < fresh; i++) gaps_ms.push(gap_ms);
        first_token_ns ??= now_ns;
        last_token_ns = now_ns;
        received += fresh;
      }
      if (isLast) {
        engine = engineTimings(line);
        is_whole = true;
        break;
      }
    }
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
  }
  const times = { sent_ns, first_token_ns, last_token_ns, end_ns: monotonicNs() };
  return { ...times, http_status, tokens: received, gaps_ms, engine, is_whole, failure };
}

/**
 * Asks for a completion and reads its stream to the end.
 * @throws MrmTraceError target, where the server refuses or tells no token; what `signal` carries
 */
export async function streamTokens(request: TokenRequest): Promise<StreamedTokens> {
  const { sent_ns, first_token_ns, tokens, gaps_ms, engine, failure } = await exchange(request);
  if (failure !== null) {
    request.signal.throwIfAborted();
    throw failure;
  }
  if (first_token_ns === null) throw new MrmTraceError("target", "the server streamed no token", HINT);
  return { ttft_ms: msBetween(sent_ns, first_token_ns), tokens, gaps_ms, engine };
}

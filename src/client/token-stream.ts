/** One streamed completion of a server, as a client sees it: when each token came. */
import type { ServerApi } from "../config/schema.ts";
import { MrmTraceError } from "../errors.ts";
import { monotonicNs } from "../kernel/libc.ts";
import { ask } from "./ask.ts";
import { type CompletionRequest, DIALECTS, type Dialect, DONE, freshRequestId, type ServerCounts } from "./dialects.ts";
import { parsedJson } from "./parsed-json.ts";

/** Far more than any event and any answer have: what a server sends beyond is no answer. */
const [MOST_LINE_CHARS, MOST_BYTES] = [2 ** 20, 2 ** 26];
const HINT = "check that the command is a server that --serve can drive, a llama-server unless --api says otherwise";

/** What became of one request, however it ended. */
export interface Exchange {
  /** ns of CLOCK_MONOTONIC, as the next three. */
  readonly sent_ns: bigint;
  readonly first_token_ns: bigint | null;
  readonly last_token_ns: bigint | null;
  readonly end_ns: bigint;
  /** Null where no answer came. */
  readonly http_status: number | null;
  /**
   * As the server calls the request in its answer; where that was cut before it said so, as vLLM calls one that brings our name, and
   * null of servers that are asked otherwise.
   */
  readonly name: string | null;
  /** Tokens that came, by what each event says. */
  readonly tokens: number;
  /** From each token to the next, in ms; those that came in one event share its time. */
  readonly gaps_ms: readonly number[];
  /**
   * False where the server counts behind the answer alone, and other tokens than events with text: several came in one, or none with some
   * of them, and nobody says with which.
   */
  readonly is_each_timed: boolean;
  /** The last that the server counted; null where it counts nothing. */
  readonly counts: ServerCounts | null;
  /** True once its last event came. */
  readonly is_whole: boolean;
  /** Why it is not whole; null where it is, or where the server just ended it. */
  readonly failure: Error | null;
}

export interface StreamedTokens
  extends Pick<
    Exchange,
    "sent_ns" | "last_token_ns" | "end_ns" | "name" | "tokens" | "gaps_ms" | "is_each_timed" | "counts"
  > {
  /** ns of CLOCK_MONOTONIC. */
  readonly first_token_ns: bigint;
  /** From sending to the first token, in ms. */
  readonly ttft_ms: number;
}

export interface TokenRequest extends CompletionRequest {
  readonly url: string;
  readonly api: ServerApi;
  readonly signal: AbortSignal;
  /** Called with each event of the answer. */
  readonly heard?: () => void;
}

/** Events of a stream of lines, each when it is whole. @throws MrmTraceError target, where they are too long */
async function* events(body: ReadableStream<Uint8Array>, { eventIn }: Dialect): AsyncGenerator<string> {
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
    for (const line of lines) {
      const event = eventIn(line);
      if (event !== null) yield event;
    }
  }
  // Some end with their last event, and not with the end of its line: of one that was cut no part is believed.
  const event = eventIn(rest + decoder.decode());
  if (event !== null && (event.trim() === DONE || parsedJson(event) !== undefined)) yield event;
}

const msBetween = (from_ns: bigint, to_ns: bigint): number => Number(to_ns - from_ns) / 1e6;

/**
 * True where there are more tokens than events that were taken for one each, but for the word that ends an answer, which has no text.
 * @param more tokens beyond these events @param said all tokens @param most asked for
 */
const isMore = (more: number, said: number, most: number): boolean => more > (said < most ? 1 : 0);

/**
 * Asks for a completion and reads its stream to the end, or to its failure, which it tells and does not throw. An event
 * that does not say how many tokens there are by now is one token.
 */
export async function exchange({ url, api, signal, heard, ...request }: TokenRequest): Promise<Exchange> {
  const dialect = DIALECTS[api];
  const sent_ns = monotonicNs();
  let http_status: number | null = null;
  let first_token_ns: bigint | null = null;
  let last_token_ns: bigint | null = null;
  let received = 0;
  const gaps_ms: number[] = [];
  /** Events that were taken for a token each since the server said last how many there are. */
  let guessed = 0;
  let is_each_timed = true;
  let counts: ServerCounts | null = null;
  let named: string | null = null;
  const given = dialect.namePrefix === null ? null : freshRequestId();
  let isNameless = given !== null;
  let is_whole = false;
  let failure: Error | null = null;
  try {
    const response = await ask(`${url}${dialect.path}`, signal, dialect.body(request), given);
    http_status = response.status;
    if (!response.ok || response.body === null) {
      await response.body?.cancel();
      throw new MrmTraceError("target", `the server answered ${response.status} to a completion`, HINT);
    }
    for await (const data of events(response.body, dialect)) {
      const now_ns = monotonicNs();
      heard?.();
      const event = dialect.read(data, request.tokens);
      const { tokens_so_far: soFar } = event;
      const fresh = soFar === null ? event.tokens : Math.max(0, soFar - received);
      if (soFar === null) guessed += event.tokens;
      else {
        is_each_timed &&= guessed === 0 || !isMore(fresh - event.tokens, soFar, request.tokens);
        guessed = 0;
      }
      if (fresh > 0) {
        const gap_ms = last_token_ns === null ? null : msBetween(last_token_ns, now_ns) / fresh;
        if (gap_ms !== null) for (let i = 0; i < fresh; i++) gaps_ms.push(gap_ms);
        first_token_ns ??= now_ns;
        last_token_ns = now_ns;
        received += fresh;
      }
      counts = event.counts ?? counts;
      named ??= event.name;
      isNameless = false;
      if (event.is_given_up) throw new MrmTraceError("target", "the server gave up a completion in its midst", HINT);
      if (event.is_last) {
        is_whole = true;
        break;
      }
    }
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
  }
  const said = counts?.output_tokens ?? null;
  if (is_whole && guessed > 0 && said !== null) is_each_timed &&= !isMore(said - received, said, request.tokens);
  const name = isNameless ? `${dialect.namePrefix}${given}` : named;
  const times = { sent_ns, first_token_ns, last_token_ns, end_ns: monotonicNs() };
  return { ...times, http_status, name, tokens: received, gaps_ms, is_each_timed, counts, is_whole, failure };
}

/**
 * Asks for a completion and reads its stream to the end.
 * @throws MrmTraceError target, where the server refuses or tells no token; what `signal` carries
 */
export async function streamTokens(request: TokenRequest): Promise<StreamedTokens> {
  const { failure, first_token_ns, http_status: _, is_whole: __, ...answer } = await exchange(request);
  if (failure !== null) {
    request.signal.throwIfAborted();
    throw failure;
  }
  if (first_token_ns === null) throw new MrmTraceError("target", "the server streamed no token", HINT);
  return { ...answer, ttft_ms: msBetween(answer.sent_ns, first_token_ns), first_token_ns };
}

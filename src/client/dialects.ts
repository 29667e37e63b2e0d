/** How servers are asked for a streamed completion, and what the events of their answers say. */
import { z } from "zod";
import type { ServerApi } from "../config/schema.ts";
import { engineTimings } from "./engine-timings.ts";
import { parsedJson } from "./parsed-json.ts";

/** What a server counts of a request; null where it does not say. */
export interface ServerCounts {
  readonly prompt_tokens: number | null;
  /** Those of them that it worked on: the others were in its cache. */
  readonly evaluated_tokens: number | null;
  readonly output_tokens: number | null;
  /** Time in which it made those behind the first. */
  readonly output_ns: number | null;
  readonly sequence_id: number | null;
}

export interface AnswerEvent {
  /** Tokens of the answer up to this event; null where it does not say. */
  readonly tokens_so_far: number | null;
  /** Tokens that it brings, where it does not say how many there are by now. */
  readonly tokens: number;
  readonly is_last: boolean;
  /** The server says that it goes no further, whatever it says behind that. */
  readonly is_given_up: boolean;
  /** Null where it counts nothing. */
  readonly counts: ServerCounts | null;
  /** What the server calls the request; null where it does not say. */
  readonly name: string | null;
}

/** No server's names are longer: a longer one is none. */
export const MOST_NAME_CHARS = 200;

export interface CompletionRequest {
  /** A text, or the numbers of its tokens. */
  readonly prompt: string | readonly number[];
  readonly tokens: number;
  /** Whether the server may take over what it has of an earlier prompt that begins alike, where it can be told. */
  readonly reuse: boolean;
  /** Name of the model, where the server has one; null for the one that it has. */
  readonly model: string | null;
}

export interface Dialect {
  readonly path: string;
  /** What vLLM puts before the name that a request gives itself by X-Request-Id; null where such a name is of no use. */
  readonly namePrefix: string | null;
  /** The event in a line of the answer; null where it has none. */
  eventIn(line: string): string | null;
  body(request: CompletionRequest): Readonly<Record<string, unknown>>;
  /** @param data of an event @param most tokens of the answer */
  read(data: string, most: number): AnswerEvent;
}

/** Of the common form, what comes last. */
export const DONE = "[DONE]";

/** A line of a stream of server-sent events. */
const sentEvent = (line: string): string | null => (line.startsWith("data:") ? line.slice(5) : null);

/**
 * Tokens of the answer up to an event, as llama-server says in each: a token whose character is not whole yet has no event
 * of its own. Null where an event says nothing that can be meant.
 */
function tokensSoFar(data: string, most: number): number | null {
  const said = Number(/"tokens_predicted":\s*(\d{1,9})\b/.exec(data)?.[1] ?? Number.NaN);
  return said <= most ? said : null;
}

/** True for what a llama-server says where it cannot go on, as of an answer that ends in the midst of a character. */
const isError = (data: string): boolean => /^\s*\{\s*"error"/.test(data);

/** llama.cpp's own, which tells most: in each event how many tokens there are, in the last its times and the slot. */
const llamaServer: Dialect = {
  path: "/completion",
  namePrefix: null,
  eventIn: sentEvent,
  body: ({ prompt, tokens, reuse }) => ({
    ...{ prompt, n_predict: tokens, stream: true, ignore_eos: true, temperature: 0, cache_prompt: reuse },
  }),
  read(data, most) {
    const is_last = /"stop":\s*true/.test(data);
    const engine = is_last ? engineTimings(data) : null;
    const counts =
      engine === null
        ? null
        : {
            prompt_tokens: engine.whole_prompt_tokens,
            evaluated_tokens: engine.prompt_tokens,
            output_tokens: engine.tokens,
            output_ns: Math.round(engine.tokens_ms * 1e6),
            sequence_id: engine.slot,
          };
    return {
      tokens_so_far: tokensSoFar(data, most),
      tokens: is_last || isError(data) ? 0 : 1,
      is_last,
      is_given_up: isError(data),
      counts,
      name: null,
    };
  },
};

/** Of an event that says nothing. */
const NOTHING: AnswerEvent = {
  tokens_so_far: null,
  tokens: 0,
  is_last: false,
  is_given_up: false,
  counts: null,
  name: null,
};

const count = z.int().min(0).max(4e9);
const text = z.string().nullable().catch(null);
const chunkSchema = z.object({
  id: z.string().min(1).max(MOST_NAME_CHARS).nullable().catch(null),
  // vLLM and SGLang tell an error in the midst of an answer, and send the same last event behind it as behind any other.
  error: z.unknown().optional(),
  object: text,
  choices: z
    .array(
      z.object({
        text,
        finish_reason: text,
        // Of a chat, which a model may think or say; the two words for thoughts are of different servers.
        delta: z.object({ content: text, reasoning: text, reasoning_content: text }).nullable().catch(null),
      }),
    )
    .catch([]),
  usage: z
    .object({
      prompt_tokens: count,
      completion_tokens: count,
      prompt_tokens_details: z.object({ cached_tokens: count }).nullable().catch(null),
    })
    .nullable()
    .catch(null),
});

/** A name that no other request has, without a dash, which ends parts of names. */
export const freshRequestId = (): string => crypto.randomUUID().replaceAll("-", "");

/** How an answer ends that the server does not go on with. */
const GIVEN_UP = new Set<string | null>(["abort", "error"]);

/** An event of the common form. One with text is one token, where it does not say how many there are by now. */
function openAiChunk(data: string, most: number): AnswerEvent {
  if (data.trim() === DONE) return { ...NOTHING, is_last: true };
  const chunk = chunkSchema.safeParse(parsedJson(data)).data;
  if (chunk === undefined) return NOTHING;
  const { id: name, choices } = chunk;
  const isError = (chunk.error ?? null) !== null || chunk.object === "error";
  const is_given_up = isError || choices.some(({ finish_reason }) => GIVEN_UP.has(finish_reason));
  // Ollama counts behind the answer alone, and says before that there are none, of the prompt neither.
  const countsNothing = chunk.usage?.prompt_tokens === 0 && chunk.usage.completion_tokens === 0;
  const usage = choices.length > 0 && countsNothing ? null : chunk.usage;
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? null;
  const isKnown = usage !== null && cached !== null && cached <= usage.prompt_tokens;
  const counts =
    usage === null
      ? null
      : {
          prompt_tokens: usage.prompt_tokens,
          evaluated_tokens: isKnown ? usage.prompt_tokens - cached : null,
          output_tokens: usage.completion_tokens,
          output_ns: null,
          sequence_id: null,
        };
  // What is counted behind the answer brings nothing.
  const said = choices.length > 0 && usage !== null ? usage.completion_tokens : Number.NaN;
  const texts = choices.flatMap(({ text, delta }) => [text, ...Object.values(delta ?? {})]);
  const tokens = texts.some((one) => (one ?? "") !== "") ? 1 : 0;
  return { ...NOTHING, tokens_so_far: said <= most ? said : null, tokens, is_given_up, counts, name };
}

/**
 * What both of its forms are asked. vLLM goes on past the words that end an answer, and says in each event how many tokens there
 * are by now; others leave what they do not know.
 */
const openAiBody = ({ tokens, model }: CompletionRequest): Readonly<Record<string, unknown>> => ({
  ...(model === null ? {} : { model }),
  ...{ max_tokens: tokens, stream: true, temperature: 0, ignore_eos: true },
  stream_options: { include_usage: true, continuous_usage_stats: true },
});

/** What many servers have in common. */
const openAi: Dialect = {
  path: "/v1/completions",
  namePrefix: "cmpl-",
  eventIn: sentEvent,
  body: (request) => ({ ...openAiBody(request), prompt: request.prompt }),
  read: openAiChunk,
};

/** The same as people talk to it. */
const openAiChat: Dialect = {
  path: "/v1/chat/completions",
  namePrefix: "chatcmpl-",
  eventIn: sentEvent,
  body: (request) => ({ ...openAiBody(request), messages: [{ role: "user", content: request.prompt }] }),
  read: openAiChunk,
};

const partSchema = z.object({
  response: z.string().catch(""),
  thinking: z.string().catch(""),
  message: z
    .object({ content: z.string().catch(""), thinking: z.string().catch("") })
    .nullable()
    .catch(null),
  done: z.boolean().catch(false),
  prompt_eval_count: count.nullable().catch(null),
  eval_count: count.nullable().catch(null),
  eval_duration: z.int().min(0).max(1e18).nullable().catch(null),
});

/**
 * Part of an answer of Ollama: a JSON object a line, with the text of one token or of some, which a model may think or say. The
 * last counts them all; of the prompt it counts what was in the cache too, and does not say how much that was.
 */
function ollamaPart(data: string, most: number): AnswerEvent {
  const part = partSchema.safeParse(parsedJson(data)).data;
  if (part === undefined) return NOTHING;
  const { response, thinking, message, done, prompt_eval_count, eval_count, eval_duration } = part;
  const texts = [response, thinking, message?.content ?? "", message?.thinking ?? ""];
  const tokens = texts.some((text) => text !== "") ? 1 : 0;
  if (!done) return { ...NOTHING, tokens };
  const counts =
    prompt_eval_count === null && eval_count === null
      ? null
      : {
          prompt_tokens: prompt_eval_count,
          evaluated_tokens: null,
          output_tokens: eval_count,
          output_ns: eval_duration,
          sequence_id: null,
        };
  const tokens_so_far = eval_count !== null && eval_count <= most ? eval_count : null;
  return { ...NOTHING, tokens_so_far, tokens, is_last: true, counts };
}

/**
 * What both of its forms are asked. No word may be told not to end an answer, and a model that repeats itself is stopped, so that
 * tokens are drawn and not the most likely ones, the same for each prompt. Of a prompt that does not fit nothing may be left out,
 * and nothing of the context for a longer answer: what was asked would be something else.
 */
function ollamaBody({ tokens, model }: CompletionRequest): Readonly<Record<string, unknown>> {
  return {
    ...(model === null ? {} : { model }),
    ...{ stream: true, truncate: false, shift: false },
    options: { num_predict: tokens, temperature: 1, seed: 1 },
  };
}

const eachLine = (line: string): string | null => (line.trim() === "" ? null : line);

/** Ollama's own, with the prompt as it is. */
const ollama: Dialect = {
  path: "/api/generate",
  namePrefix: null,
  eventIn: eachLine,
  body: (request) => ({ ...ollamaBody(request), prompt: request.prompt, raw: true }),
  read: ollamaPart,
};

/** The same as people talk to it: the prompt is a message, around which the template of the model stands. */
const ollamaChat: Dialect = {
  path: "/api/chat",
  namePrefix: null,
  eventIn: eachLine,
  body: (request) => ({ ...ollamaBody(request), messages: [{ role: "user", content: request.prompt }] }),
  read: ollamaPart,
};

export const DIALECTS: Readonly<Record<ServerApi, Dialect>> = {
  "llama-server": llamaServer,
  openai: openAi,
  "openai-chat": openAiChat,
  ollama,
  "ollama-chat": ollamaChat,
};

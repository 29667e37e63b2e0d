/** What a llama-server says of the tokens that it streamed, in the last event of the stream. */
import { z } from "zod";
import { parsedJson } from "./parsed-json.ts";

/** No answer has more; below 2^32, so that they fit their columns and sums stay exact. */
const tokens = z.int().min(0).max(4e9);
const ms = z.number().min(0).max(1e12);

/** llama.cpp's server: a final response (server-task.cpp); it says more, the texts among it, which is left. */
const finalEvent = z.object({
  timings: z.object({ prompt_n: tokens, predicted_n: tokens, predicted_ms: ms }),
  tokens_evaluated: tokens.nullable().catch(null),
  id_slot: z
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .nullable()
    .catch(null),
});

/** As the engine counts them: its tokens include the first, which its prompt gives, its time begins behind that. */
export interface EngineTimings {
  /** Tokens of the prompt that were worked on: those that were taken from its cache are left out. */
  readonly prompt_tokens: number;
  /** Tokens of the prompt, those of the cache too; null where it does not say, or less than it worked on. */
  readonly whole_prompt_tokens: number | null;
  readonly tokens: number;
  readonly tokens_ms: number;
  /** The slot that served it, which is its sequence; null where it does not say. */
  readonly slot: number | null;
}

/** The timings in the text of an event; null where it is no JSON, or has none that can be meant. */
export function engineTimings(event: string): EngineTimings | null {
  const said = finalEvent.safeParse(parsedJson(event)).data;
  if (said === undefined) return null;
  const { prompt_n, predicted_n, predicted_ms } = said.timings;
  const whole = said.tokens_evaluated;
  return {
    prompt_tokens: prompt_n,
    whole_prompt_tokens: whole !== null && whole >= prompt_n ? whole : null,
    tokens: predicted_n,
    tokens_ms: predicted_ms,
    slot: said.id_slot,
  };
}

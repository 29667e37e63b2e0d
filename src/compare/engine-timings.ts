/** What a llama-server says of the tokens that it streamed, in the last event of the stream. */
import { z } from "zod";

/** No answer has more; below 2^53, so that sums stay exact. */
const tokens = z.int().min(0).max(1e12);
const ms = z.number().min(0).max(1e12);

/** llama.cpp's server: `timings` of a final response (server-task.cpp); it says more, which is left. */
const finalEvent = z.object({
  timings: z.object({ prompt_n: tokens, predicted_n: tokens, predicted_ms: ms }),
});

/** As the engine counts them: its tokens include the first, which its prompt gives, its time begins behind that. */
export interface EngineTimings {
  /** Tokens of the prompt that were worked on: those that were taken from its cache are left out. */
  readonly prompt_tokens: number;
  readonly tokens: number;
  readonly tokens_ms: number;
}

/** The timings in the text of an event; null where it is no JSON, or has none that can be meant. */
export function engineTimings(event: string): EngineTimings | null {
  let object: unknown;
  try {
    object = JSON.parse(event);
  } catch {
    return null;
  }
  const said = finalEvent.safeParse(object).data?.timings;
  if (said === undefined) return null;
  return { prompt_tokens: said.prompt_n, tokens: said.predicted_n, tokens_ms: said.predicted_ms };
}

/** What the HTTP servers of engines count of themselves and tell as text at /metrics, in Prometheus' form. */
import { llamaCounters } from "./llama-cpp/server-counters.ts";
import { vllmCounters } from "./vllm/server-counters.ts";

/** Totals since the server began. */
export interface ServerCounters {
  /** Tokens of prompts that were worked on: those that were taken from a cache are left out. */
  readonly prompt_tokens: number;
  /** Tokens of answers, the first of each among them. */
  readonly generated_tokens: number;
  /** Time in which they were generated, of all requests together, from the first token of each on. */
  readonly generated_s: number;
  /** Requests that are worked on now. */
  readonly requests_under_way: number;
}

const MOST = 1e15;

/** Counters that can be meant; null for others. */
function believed(counters: ServerCounters | null): ServerCounters | null {
  if (counters === null) return null;
  const { prompt_tokens, generated_tokens, generated_s, requests_under_way } = counters;
  if (![prompt_tokens, generated_tokens, generated_s, requests_under_way].every((n) => n >= 0 && n <= MOST))
    return null;
  return [prompt_tokens, generated_tokens, requests_under_way].every(Number.isInteger) ? counters : null;
}

/** The counters in the text of /metrics; null where one is missing or no number that can be meant. */
export function serverCounters(text: string): ServerCounters | null {
  return believed(llamaCounters(text)) ?? believed(vllmCounters(text));
}

/** What llama.cpp's server counts of itself and tells as text at /metrics, where it was started with --metrics. */

/** Totals since the server began. */
export interface ServerCounters {
  /** Tokens of prompts that were worked on. */
  readonly prompt_tokens: number;
  /** Tokens of answers, the first of each among them; those of an answer are added when it ends. */
  readonly generated_tokens: number;
  readonly generated_s: number;
  /** Requests that are worked on now. */
  readonly requests_under_way: number;
}

/** Names of server-context.cpp, which are in Prometheus' form. */
const NAMES = {
  prompt_tokens: "llamacpp:prompt_tokens_total",
  generated_tokens: "llamacpp:tokens_predicted_total",
  generated_s: "llamacpp:tokens_predicted_seconds_total",
  requests_under_way: "llamacpp:requests_processing",
} as const satisfies Record<keyof ServerCounters, string>;

const MOST = 1e15;

/** The counters in the text of /metrics; null where one is missing or no number that can be meant. */
export function serverCounters(text: string): ServerCounters | null {
  const values = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name = "", value = ""] = /^(llamacpp:[a-z_]{1,60}) ([0-9.eE+-]{1,40})\r?$/.exec(line) ?? [];
    if (name !== "") values.set(name, Number(value));
  }
  const found = Object.entries(NAMES).map(([key, name]) => [key, values.get(name) ?? Number.NaN] as const);
  if (found.some(([, value]) => !(value >= 0 && value <= MOST))) return null;
  const counters = Object.fromEntries(found) as Record<keyof ServerCounters, number>;
  return [counters.prompt_tokens, counters.generated_tokens, counters.requests_under_way].every(Number.isInteger)
    ? counters
    : null;
}

/** The counters of llama.cpp's server, where it was started with --metrics; tokens of an answer are added when it ends. */
import type { ServerCounters } from "../server-counters.ts";

/** Names of server-context.cpp. */
const NAMES = {
  prompt_tokens: "llamacpp:prompt_tokens_total",
  generated_tokens: "llamacpp:tokens_predicted_total",
  generated_s: "llamacpp:tokens_predicted_seconds_total",
  requests_under_way: "llamacpp:requests_processing",
} as const satisfies Record<keyof ServerCounters, string>;

/** Null where one of them is missing. */
export function llamaCounters(text: string): ServerCounters | null {
  const values = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name = "", value = ""] = /^(llamacpp:[a-z_]{1,60}) ([0-9.eE+-]{1,40})\r?$/.exec(line) ?? [];
    if (name !== "") values.set(name, Number(value));
  }
  const found = Object.entries(NAMES).map(([key, name]) => [key, values.get(name) ?? Number.NaN] as const);
  if (found.some(([, value]) => Number.isNaN(value))) return null;
  return Object.fromEntries(found) as Record<keyof ServerCounters, number>;
}

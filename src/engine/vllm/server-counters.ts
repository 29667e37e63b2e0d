/** The counters of vLLM's server, each of which has a line for every engine that serves; tokens are added as they come. */
import type { ServerCounters } from "../server-counters.ts";

/** Names of vllm/v1/metrics/loggers.py. */
const NAMES = {
  prompts: "vllm:prompt_tokens_total",
  cached: "vllm:prompt_tokens_cached_total",
  generated: "vllm:generation_tokens_total",
  latency_s: "vllm:inter_token_latency_seconds_sum",
  running: "vllm:num_requests_running",
} as const;

/** Null where one of them is missing. */
export function vllmCounters(text: string): ServerCounters | null {
  const sums = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name = "", value = ""] = /^(vllm:[a-z_]{1,60})(?:\{.{0,2000}\})? ([0-9.eE+-]{1,40})\r?$/.exec(line) ?? [];
    if (name !== "") sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  const [prompts, cached, generated_tokens, generated_s, requests_under_way] = Object.values(NAMES).map((name) =>
    sums.get(name),
  );
  if (prompts === undefined || cached === undefined || generated_tokens === undefined) return null;
  if (generated_s === undefined || requests_under_way === undefined) return null;
  return { prompt_tokens: prompts - cached, generated_tokens, generated_s, requests_under_way };
}

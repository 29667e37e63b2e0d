/** What all requests of a run took, in a few numbers. */
import type { RequestSummary } from "../../schema/run-json.ts";
import { quantile } from "../../statistics/quantile.ts";
import type { RequestFigure } from "./request-figures.ts";

const WHY =
  "not identifiable: steps tell batches, not which tokens are of one request, nor when it was sent, which its client knows; with `run --serve` and in experiments of servers that client is ours";

/** Of a run whose client is not ours. */
export function notOurs(): RequestSummary {
  const times = { ttft_ms: null, wait_ms: null, token_gap_ms: null };
  const sums = { prompt_tokens: null, reused_tokens: null, output_tokens: null, streamed_tokens: null };
  return { requests: null, answered: null, ...times, ...sums, kv_bytes: null, why: WHY };
}

/** Quantiles of what some of the rows tell; null where none does. */
function shares(values: readonly (bigint | null)[], unit: number): RequestSummary["ttft_ms"] {
  const numbers = values.flatMap((value) => (value === null ? [] : [Number(value) / unit]));
  return numbers.length === 0 ? null : { p50: quantile(numbers, 0.5), p99: quantile(numbers, 0.99) };
}

/** The sum of what every row tells; null where one does not, as it would be too small. */
function sum(values: readonly (number | null)[]): number | null {
  return values.reduce((total, value) => (total === null || value === null ? null : total + value), 0 as number | null);
}

export function summaryOf(figures: readonly RequestFigure[]): RequestSummary {
  const answered = figures.filter(({ status }) => status === "answered");
  const each = <K extends keyof RequestFigure>(name: K) => figures.map((figure) => figure[name]);
  return {
    requests: figures.length,
    answered: answered.length,
    ttft_ms: shares(each("ttft_ns"), 1e6),
    wait_ms: shares(each("wait_ns"), 1e6),
    token_gap_ms: shares(each("token_gap_p50_ns"), 1e6),
    prompt_tokens: sum(answered.map(({ prompt_tokens }) => prompt_tokens)),
    reused_tokens: sum(answered.map(({ reused_tokens }) => reused_tokens)),
    output_tokens: sum(answered.map(({ output_tokens }) => output_tokens)),
    streamed_tokens: sum(each("streamed_tokens")),
    kv_bytes: shares(each("kv_bytes"), 1),
    why: null,
  };
}

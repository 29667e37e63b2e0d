/** What came of a request: its tokens and the server's counts as plain numbers, and all of it as a row of the stream of requests. */
import type { RowOf } from "../schema/row.ts";
import { quantile } from "../statistics/quantile.ts";
import type { EndedExchange } from "./drive-messages.ts";
import type { Exchange } from "./token-stream.ts";

/** Tokens that came, times between them in whole ns, and what the server counts; null for what nobody tells. */
export function answerNumbers({
  tokens,
  gaps_ms,
  is_each_timed,
  counts,
}: Pick<Exchange, "tokens" | "gaps_ms" | "is_each_timed" | "counts">) {
  const gap_ns = (p: number): number | null => {
    const gap_ms = is_each_timed ? quantile(gaps_ms, p) : null;
    return gap_ms === null ? null : Math.round(gap_ms * 1e6);
  };
  return {
    streamed_tokens: tokens,
    token_gap_p50_ns: gap_ns(0.5),
    token_gap_p99_ns: gap_ns(0.99),
    token_gap_max_ns: gap_ns(1),
    prompt_tokens: counts?.prompt_tokens ?? null,
    evaluated_tokens: counts?.evaluated_tokens ?? null,
    output_tokens: counts?.output_tokens ?? null,
    output_ns: counts?.output_ns ?? null,
    sequence_id: counts?.sequence_id ?? null,
  };
}

/** @param pid of the process that was asked */
export function requestRow(pid: number, { sent_ns, ...ended }: Omit<EndedExchange, "says">): RowOf<"request"> {
  const wide = (ns: number | null): bigint | null => (ns === null ? null : BigInt(ns));
  return {
    ...ended,
    timestamp_ns: sent_ns,
    pid,
    output_ns: wide(ended.output_ns),
    token_gap_p50_ns: wide(ended.token_gap_p50_ns),
    token_gap_p99_ns: wide(ended.token_gap_p99_ns),
    token_gap_max_ns: wide(ended.token_gap_max_ns),
  };
}

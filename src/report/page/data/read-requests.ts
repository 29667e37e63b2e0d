/** The requests of a run for the page, where the client was ours: when each was under way, and in which lane it is drawn. */
import { existsSync } from "node:fs";
import type { RowOf } from "../../../schema/row.ts";
import type { RequestColumns } from "./page-data.ts";
import { rowsOf } from "./run-table.ts";

/** The first of them: some 100 bytes of the page each. */
const MOST_REQUESTS = 2000;

/** To 10 us, far below what can be seen. */
const inMs = (ns: bigint): number => Math.round(Number(ns) / 1e4) / 100;
const inMsOrNull = (ns: bigint | null): number | null => (ns === null ? null : inMs(ns));

/** The first lane that is free when each begins: as many lanes as requests were under way at once. */
function lanesOf(spans: readonly { readonly begin: bigint; readonly end: bigint }[]): number[] {
  const ends: bigint[] = [];
  return spans.map(({ begin, end }) => {
    const free = ends.findIndex((last) => last <= begin);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = end;
    return lane;
  });
}

/** Its last token, its first where there is no other, or when it was sent: all that is known of one without an answer. */
const endOf = ({ timestamp_ns, ttft_ns, generation_ns }: RowOf<"request_figures">): bigint =>
  timestamp_ns + (ttft_ns ?? 0n) + (generation_ns ?? 0n);

/** The rows of request_figures.parquet in order of time; null for a run without. @throws as `rowsOf` */
export function readRequests(path: string, origin_ns: bigint): RequestColumns | null {
  if (!existsSync(path)) return null;
  const all = rowsOf(path, "request_figures").sort((a, b) => (a.timestamp_ns < b.timestamp_ns ? -1 : 1));
  const rows = all.slice(0, MOST_REQUESTS);
  return {
    left_out: all.length - rows.length,
    id: rows.map(({ request_id }) => request_id),
    status: rows.map(({ status }) => status),
    lane: lanesOf(rows.map((row) => ({ begin: row.timestamp_ns, end: endOf(row) }))),
    sent_ms: rows.map(({ timestamp_ns }) => inMs(timestamp_ns - origin_ns)),
    wait_ms: rows.map(({ wait_ns }) => inMsOrNull(wait_ns)),
    ttft_ms: rows.map(({ ttft_ns }) => inMsOrNull(ttft_ns)),
    generation_ms: rows.map(({ generation_ns }) => inMsOrNull(generation_ns)),
    gap_p50_ms: rows.map(({ token_gap_p50_ns }) => inMsOrNull(token_gap_p50_ns)),
    gap_p99_ms: rows.map(({ token_gap_p99_ns }) => inMsOrNull(token_gap_p99_ns)),
    prompt_tokens: rows.map(({ prompt_tokens }) => prompt_tokens),
    reused_tokens: rows.map(({ reused_tokens }) => reused_tokens),
    output_tokens: rows.map(({ output_tokens }) => output_tokens),
    kv_bytes: rows.map(({ kv_bytes }) => (kv_bytes === null ? null : Number(kv_bytes))),
    retention_ms: rows.map(({ retention_max_ns }) => inMsOrNull(retention_max_ns)),
  };
}

/** What single requests took: times of the client, tokens by the server, and what the engine's steps say of their sequences. */
import type { RowOf } from "../../schema/row.ts";
import { formatCounted } from "../../units.ts";
import { withFitted } from "./fitting-sequence.ts";
import type { RequestBatches, RequestRow } from "./sequence-batches.ts";

export type RequestFigure = RowOf<"request_figures">;

/** Of a request of which no KV row is known. */
export const NOTHING_KEPT = { written_bytes: null, retention_p50_ns: null, retention_max_ns: null } as const;

/** Time from one moment to the next, in ns; null where that is not known, or came before. */
export const between = (from_ns: bigint, to_ns: bigint | null): bigint | null =>
  to_ns === null || to_ns < from_ns ? null : to_ns - from_ns;

/** Tokens that its sequence has behind its last batch: the last of an answer is never put in. */
export const heldTokens = ({ prompt_tokens, output_tokens }: RequestRow): number =>
  (prompt_tokens ?? 0) + (output_tokens ?? 0) - 1;

/** Tokens of the prompt that the server had; null where it does not tell both counts. */
function reusedTokens({ prompt_tokens: whole, evaluated_tokens: evaluated }: RequestRow): number | null {
  return whole === null || evaluated === null || evaluated > whole ? null : whole - evaluated;
}

/** Bytes of the rows of these tokens, of which each holds as many as any other that its sequence held behind its last batch; null where that is not known. */
function savedBytes(row: RequestRow, kv_bytes: bigint | null): bigint | null {
  const reused = reusedTokens(row);
  if (reused === null || reused === 0) return reused === null ? null : 0n;
  const held_tokens = heldTokens(row);
  return kv_bytes === null || held_tokens < 1 ? null : (kv_bytes * BigInt(reused)) / BigInt(held_tokens);
}

function whyNoToken(status: RequestRow["status"], http_status: RequestRow["http_status"]): string {
  if (status === "refused") return `it was refused with HTTP ${http_status}`;
  if (status === "silent") return "it was given up, as the server said nothing";
  return status === "failed" ? "no answer came" : "no token came";
}

/** Why times between the tokens of a request are not known, where several came in an event, or some with none; null where they are, or it had few. */
export function bunchedText({ token_gap_p50_ns, streamed_tokens, output_tokens }: RequestRow): string | null {
  if (token_gap_p50_ns !== null || output_tokens === null || streamed_tokens === 0) return null;
  // One that ends at once has a word that ends it, which has no text.
  if (streamed_tokens < 2 && output_tokens <= streamed_tokens + 1) return null;
  const events = streamed_tokens === output_tokens ? "some events" : formatCounted(streamed_tokens, "event");
  const tokens = streamed_tokens === output_tokens ? "several tokens or none" : formatCounted(output_tokens, "token");
  return `${events} of its answer had ${tokens}, so that times between its tokens are not identifiable`;
}

/** Reasons one behind the other; null where there is none. */
export function reasonsText(...reasons: readonly (string | null)[]): string | null {
  const those = reasons.filter((reason) => reason !== null);
  return those.length === 0 ? null : those.join("; ");
}

/** Why the bytes of a request are not known, where nothing says more. */
export const UNKNOWN_ROWS = "not all rows of its sequence are known";

/** Why the wait or the bytes of a request are not known; null where both are. */
function whyNot(
  { status, http_status, first_token_ns, sequence_id, output_tokens }: RequestRow,
  batches: RequestBatches | null,
  kv_bytes: bigint | null,
  whyNoRows: string,
): string | null {
  if (first_token_ns === null) return whyNoToken(status, http_status);
  if (sequence_id === null)
    return "the server does not say which sequence it had, and its tokens and times do not fit the batches of one alone";
  if (batches === null) return "no batch of its sequence was seen in one process that decodes";
  if (output_tokens === null) return "the server does not say how many tokens it had";
  if (batches.first_ns === null) return "its first batch was not seen";
  if (batches.last_ns === null) return "its last batch was not seen";
  return kv_bytes === null ? whyNoRows : null;
}

/**
 * The figures of one request.
 * @param originNs from which the batches count
 * @param kv_bytes of KV rows that its sequence held behind its last batch; null where they are not known
 * @param whyNoRows why they are not
 */
export function requestFigure(
  asked: RequestRow,
  batches: RequestBatches | null,
  originNs: bigint,
  kv_bytes: bigint | null,
  whyNoRows: string = UNKNOWN_ROWS,
): RequestFigure {
  const row = withFitted(asked, batches);
  const { timestamp_ns, first_token_ns, last_token_ns } = row;
  const first_ns = batches?.first_ns ?? null;
  const bunched = bunchedText(row);
  return {
    request_id: row.request_id,
    request: null,
    timestamp_ns,
    status: row.status,
    ttft_ns: between(timestamp_ns, first_token_ns),
    wait_ns: first_ns === null ? null : between(timestamp_ns, originNs + BigInt(Math.round(first_ns))),
    generation_ns: first_token_ns === null ? null : between(first_token_ns, last_token_ns),
    token_gap_p50_ns: row.token_gap_p50_ns,
    token_gap_p99_ns: row.token_gap_p99_ns,
    token_gap_max_ns: row.token_gap_max_ns,
    prompt_tokens: row.prompt_tokens,
    evaluated_tokens: row.evaluated_tokens,
    reused_tokens: reusedTokens(row),
    output_tokens: row.output_tokens,
    output_ns: row.output_ns,
    // Where the server counted all of them, our client had them, whatever event they came in.
    streamed_tokens: bunched === null || row.streamed_tokens === row.output_tokens ? row.streamed_tokens : null,
    sequence_id: row.sequence_id,
    sequence_by: row.sequence_id === null ? null : asked.sequence_id === null ? "batches" : "server",
    kv_bytes,
    saved_bytes: savedBytes(row, kv_bytes),
    ...NOTHING_KEPT,
    why: reasonsText(whyNot(row, batches, kv_bytes, whyNoRows), bunched),
  };
}

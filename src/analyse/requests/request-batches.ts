/** Which batches of the engine began and ended each request, by the sequence that the server says and the positions in it, or by what fits it alone. */
import type { StepRow } from "../../label/timeline/step-row.ts";
import { fittedBatches } from "./fitting-sequence.ts";
import {
  batchesFrom,
  begunBy,
  decodingPid,
  type RequestBatches,
  type RequestRow,
  type SequenceBatch,
  sequenceBatches,
} from "./sequence-batches.ts";

/**
 * The batches of a request, which lie between its sending and the coming of its tokens: of a client that hears of these late the next
 * request has the slot already by then, and another may have had it first.
 */
function batchesOf(
  { timestamp_ns, first_token_ns, last_token_ns, prompt_tokens, evaluated_tokens, output_tokens }: RequestRow,
  batches: readonly SequenceBatch[],
  originNs: bigint,
): RequestBatches {
  if (prompt_tokens === null || evaluated_tokens === null || first_token_ns === null || last_token_ns === null) {
    return { first_ns: null, last_ns: null };
  }
  const [sent_ns, began_ns, ended_ns] = [timestamp_ns, first_token_ns, last_token_ns].map((time) =>
    Number(time - originNs),
  ) as [number, number, number];
  const first = prompt_tokens - evaluated_tokens;
  // The last token of an answer is never put in.
  const last = output_tokens === null ? null : prompt_tokens + output_tokens - 2;
  /** The latest that began as it did, of which no last batch came in its time: the next request may have, too. */
  let begun: RequestBatches | null = null;
  for (let i = begunBy(batches, began_ns) - 1; i >= 0; i--) {
    const batch = batches[i];
    if (batch === undefined || batch.begin_ns < sent_ns) break;
    const found =
      batch.position === first ? batchesFrom(batches, i, ended_ns, { first, prompt: prompt_tokens, last }) : null;
    if (found !== null && (found.last_ns !== null || last === null)) return found;
    begun ??= found;
  }
  return begun ?? { first_ns: null, last_ns: null };
}

/**
 * The batches of requests in their order; null for one whose sequence neither the server says nor the batches, or of which no batch was
 * seen.
 * @param steps in order of their begin
 */
export function requestBatches(
  requests: readonly RequestRow[],
  steps: readonly StepRow[],
  originNs: bigint,
): (RequestBatches | null)[] {
  const ofSequence = sequenceBatches(steps, decodingPid(steps));
  const fitted = fittedBatches(requests, ofSequence, originNs);
  return requests.map((request) => {
    if (request.sequence_id === null) return fitted.get(request.request_id) ?? null;
    const batches = ofSequence.get(request.sequence_id);
    return batches === undefined ? null : batchesOf(request, batches, originNs);
  });
}

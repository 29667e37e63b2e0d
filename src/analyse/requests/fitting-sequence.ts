/** The sequences of requests whose server does not say them: the one whose batches fit the tokens and times of a request, where no other one's do. */
import { batchesFrom, begunBy, type RequestBatches, type RequestRow, type SequenceBatch } from "./sequence-batches.ts";

/** Batches of a sequence, from one on, that may be those of a request. */
interface Candidate {
  /** The same for the same batches. */
  readonly key: string;
  readonly batches: RequestBatches;
}

/** Whether a batch goes on with the prompt that the one before began: no request begins with it. */
function goesOn(before: SequenceBatch | undefined, { position }: SequenceBatch, sent_ns: number): boolean {
  return (
    before !== undefined &&
    before.begin_ns >= sent_ns &&
    before.tokens > 1 &&
    before.position + before.tokens === position
  );
}

/** How far tokens one at a time follow each other from a position on, whoever asks for them. */
function decodedUpTo(batches: readonly SequenceBatch[], start: number, from: number): number {
  let end = from;
  for (let i = start; i < batches.length; i++) {
    const { position, tokens } = batches[i] ?? { position: -1, tokens: 0 };
    if (position === end && tokens === 1) end += 1;
    else if (end > from) break;
  }
  return end;
}

/** A sequence, and when its first and its last batch began. */
interface TimedSequence {
  readonly sequence: number;
  readonly batches: readonly SequenceBatch[];
  readonly first_ns: number;
  readonly last_ns: number;
}

/** Every one that the tokens and times of a request allow. */
function candidatesOf(request: RequestRow, sequences: readonly TimedSequence[], originNs: bigint): Candidate[] {
  const { prompt_tokens: prompt, evaluated_tokens, output_tokens, first_token_ns, last_token_ns } = request;
  if (prompt === null || output_tokens === null || first_token_ns === null || last_token_ns === null) return [];
  const sent_ns = Number(request.timestamp_ns - originNs);
  const began_ns = Number(first_token_ns - originNs);
  const ended_ns = Number(last_token_ns - originNs);
  // The last token of an answer is never put in, or it is, and what comes of it thrown away.
  const [last, mostEnd] = [prompt + output_tokens - 2, prompt + output_tokens];
  // A server may have had thousands of sequences in all, and a few at a time.
  const then = sequences.filter(({ first_ns, last_ns }) => first_ns <= began_ns && last_ns >= sent_ns);
  return then.flatMap(({ sequence, batches }) => {
    const until = begunBy(batches, began_ns);
    const found: Candidate[] = [];
    for (let i = until - 1; i >= 0 && (batches[i]?.begin_ns ?? 0) >= sent_ns; i--) {
      const batch = batches[i];
      if (batch === undefined || batch.position >= prompt || goesOn(batches[i - 1], batch, sent_ns)) continue;
      const evaluated = prompt - batch.position;
      if (evaluated_tokens !== null && evaluated_tokens !== evaluated) continue;
      const those = batchesFrom(batches, i, ended_ns, { first: batch.position, prompt, last });
      if (those === null || those.last_ns === null || decodedUpTo(batches, i, prompt) > mostEnd) continue;
      found.push({ key: `${sequence}/${i}`, batches: { ...those, fitted: { sequence, evaluated_tokens: evaluated } } });
    }
    return found;
  });
}

/**
 * The batches of each request that has no sequence, by its number: of those that only it can have, and then of those that are left when these are
 * given away. A request that several sequences fit all the same has none.
 * @param bySequence batches of the process that decodes, in order of their begin
 */
export function fittedBatches(
  requests: readonly RequestRow[],
  bySequence: ReadonlyMap<number, readonly SequenceBatch[]>,
  originNs: bigint,
): ReadonlyMap<number, RequestBatches> {
  const sequences = [...bySequence].map(([sequence, batches]) => ({
    sequence,
    batches,
    first_ns: batches[0]?.begin_ns ?? Number.POSITIVE_INFINITY,
    last_ns: batches.at(-1)?.begin_ns ?? Number.NEGATIVE_INFINITY,
  }));
  const open = new Map(
    requests
      .filter(({ sequence_id }) => sequence_id === null)
      .map((request) => [request.request_id, candidatesOf(request, sequences, originNs)] as const),
  );
  const found = new Map<number, RequestBatches>();
  const given = new Set<string>();
  for (;;) {
    const single = [...open].flatMap(([id, candidates]) => {
      const left = candidates.filter(({ key }) => !given.has(key));
      const [one] = left;
      return left.length === 1 && one !== undefined ? [{ id, one }] : [];
    });
    const claims = Map.groupBy(single, ({ one }) => one.key);
    for (const { id } of single) open.delete(id);
    for (const [key, [claim, ...others]] of claims) {
      // Of two that only these batches fit one has none that were seen.
      given.add(key);
      if (claim !== undefined && others.length === 0) found.set(claim.id, claim.one.batches);
    }
    if (single.length === 0) return found;
  }
}

/** The request with the sequence that its batches say, and what was worked on of its prompt. */
export function withFitted(request: RequestRow, batches: RequestBatches | null): RequestRow {
  const fitted = batches?.fitted;
  if (fitted === undefined) return request;
  return {
    ...request,
    sequence_id: fitted.sequence,
    evaluated_tokens: request.evaluated_tokens ?? fitted.evaluated_tokens,
  };
}

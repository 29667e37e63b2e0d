/** The batches of each sequence of a process, and those of them that may be of one request. */
import { runsOf } from "../../label/kv/step-runs.ts";
import { isBatch, isTurn, type StepRow } from "../../label/timeline/step-row.ts";
import type { RowOf } from "../../schema/row.ts";
import { firstIndex } from "../../statistics/first-index.ts";

export type RequestRow = RowOf<"request">;

/** Begins of batches, ns since the origin of the run; null for one that was not seen. */
export interface RequestBatches {
  /** The one that worked on the first token of the prompt that was not in the cache. */
  readonly first_ns: number | null;
  /** The one into which the last token went that was put in: with it the cache has all that the request put there. */
  readonly last_ns: number | null;
  /** Where the server does not say it: the sequence, and what of the prompt was worked on. */
  readonly fitted?: { readonly sequence: number; readonly evaluated_tokens: number };
}

/** A batch as far as a sequence of it goes. */
export interface SequenceBatch {
  readonly begin_ns: number;
  readonly position: number;
  readonly tokens: number;
}

/** The one process that decodes, which need not be the one that was launched; null where there is none, or several. */
export function decodingPid(steps: readonly StepRow[]): number | null {
  const pids = new Set(steps.filter(isBatch).map(({ pid }) => pid));
  const [pid] = pids;
  return pids.size === 1 && pid !== undefined ? pid : null;
}

/** Batches of each sequence of a process, in order of their begin. */
export function sequenceBatches(steps: readonly StepRow[], pid: number | null): Map<number, SequenceBatch[]> {
  const found = new Map<number, SequenceBatch[]>();
  for (const step of steps) {
    if (step.pid !== pid || !isTurn(step)) continue;
    for (const { sequences, position, tokens } of runsOf(step) ?? []) {
      for (const sequence of sequences) {
        const batches = found.get(sequence) ?? [];
        if (batches.length === 0) found.set(sequence, batches);
        batches.push({ begin_ns: step.begin_ns, position, tokens });
      }
    }
  }
  return found;
}

/** How many of the batches began by a time. */
export function begunBy(batches: readonly SequenceBatch[], time_ns: number): number {
  return firstIndex(batches.length, (i) => (batches[i]?.begin_ns ?? 0) <= time_ns);
}

/** The tokens of a request in its sequence. */
export interface Tokens {
  /** Position of the first that was not in the cache. */
  readonly first: number;
  /** Of the prompt. */
  readonly prompt: number;
  /** Position of the last that was put in; null where it is not known. */
  readonly last: number | null;
}

/**
 * The batches of a request if it began with that one: they follow each other up to the end of its prompt, and then until one begins
 * in its prompt again, or beyond what is there, which is the next request's. A draft that was not taken is worked on anew. Null
 * where they are not those of its prompt.
 */
export function batchesFrom(
  batches: readonly SequenceBatch[],
  start: number,
  until_ns: number,
  { first, prompt, last }: Tokens,
): RequestBatches | null {
  let end = first;
  let last_ns: number | null = null;
  for (let i = start; i < batches.length; i++) {
    const batch = batches[i];
    if (batch === undefined || batch.begin_ns > until_ns) break;
    const { position, tokens } = batch;
    if (end < prompt ? position !== end : position < prompt || position > end) break;
    if (end < prompt && position + tokens > prompt) return null;
    end = position + tokens;
    if (last === null || position > last || last >= end) continue;
    last_ns = batch.begin_ns;
    if (tokens === 1 || position < prompt) break;
  }
  return end < prompt ? null : { first_ns: batches[start]?.begin_ns ?? null, last_ns };
}

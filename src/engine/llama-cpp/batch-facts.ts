/** What a row tells of a batch: its tokens by sequence and position, and numbers that arguments of functions are. */
import { type PlacedRun, sequencesIn } from "./cache-heads.ts";
import type { CellRange } from "./written-cells.ts";

/** An address as text, for the detail of a row. */
export function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}

/** The whole number that an argument of 4 bytes is. */
export const i32 = (value: bigint): number => Number(BigInt.asIntN(32, value));

/** Tokens of all runs. */
export const tokensIn = (runs: readonly PlacedRun[]): number => runs.reduce((sum, { tokens }) => sum + tokens, 0);

/**
 * What the columns and the detail of a batch say of its tokens.
 * @param drafter the context of a draft model that made its guesses; null where it has none, or nobody knows it
 */
export function batchFacts(n_tokens: number, runs: readonly PlacedRun[] | null, drafter: bigint | null = null) {
  if (runs === null || n_tokens === 0) return { columns: {}, detail: {} };
  const sequences = sequencesIn(runs);
  const [run] = runs;
  const prompts = runs.flatMap(({ sequences: ids, isPrompt }) => (isPrompt ? ids : []));
  const drafts = runs.flatMap(({ sequences: [id], tokens, isDraft }) => (isDraft ? [[id, tokens - 1]] : []));
  const marks = {
    ...(prompts.length === 0 ? {} : { prompt_sequences: prompts }),
    ...(drafts.length === 0 ? {} : { drafts }),
    ...(drafter === null ? {} : { drafted_by: hex(drafter) }),
  };
  const isOne = sequences.size === 1;
  const columns = {
    n_sequences: sequences.size,
    position_first: isOne ? Math.min(...runs.map(({ position }) => position)) : null,
    sequence_id: isOne ? (run?.sequences[0] ?? null) : null,
  };
  // One run of one sequence is what the columns say.
  if (isOne && runs.length === 1) return { columns, detail: marks };
  const kv_rows = runs.map(({ sequences: ids, position, tokens }) => [
    ids.length === 1 ? ids[0] : ids,
    position,
    tokens,
  ]);
  return { columns, detail: { kv_rows, ...marks } };
}

/** The same of tokens that are encoded: no rows are kept of them, and they stand at no position behind others. */
export function encodedFacts(n_tokens: number, runs: readonly PlacedRun[] | null) {
  const { columns } = batchFacts(n_tokens, runs);
  return { columns: { ...columns, position_first: null }, detail: {} };
}

/** What is told of the cells of a batch. @param graphs tokens of each of its graphs, in which those of several sequences may be in another order */
export function cellFacts(runs: readonly PlacedRun[], kv_row_cells: readonly CellRange[], graphs: readonly number[]) {
  const isDivided = graphs.length > 1 && sequencesIn(runs).size > 1;
  return { kv_row_cells, ...(isDivided ? { kv_graph_tokens: graphs } : {}) };
}

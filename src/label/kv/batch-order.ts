/**
 * In which order an engine computes the tokens of a batch, where all sequences share the cells: its own order, which is that of the cells that
 * its graphs write, or one that is divided by sequences.
 */
import type { RowRun } from "./positions.ts";

/** Tokens of the same sequences in a batch. */
interface Owners {
  readonly sequences: readonly number[];
  tokens: number;
  /** They lie behind each other. */
  isOnePiece: boolean;
}

/**
 * True where an engine computes the tokens of a batch in their order, however it divides them into parts of as many tokens of each
 * sequence, as it does where some layers keep a state: one sequence, or one token of each.
 */
export function keepsOrder(runs: readonly RowRun[]): boolean {
  const ids = runs.flatMap(({ sequences }) => sequences);
  const isOfOne = runs.every(({ sequences }) => String(sequences) === String(runs[0]?.sequences));
  return isOfOne || (runs.every(({ tokens }) => tokens === 1) && new Set(ids).size === ids.length);
}

function ownersIn(runs: readonly RowRun[]): Owners[] {
  const owners = new Map<string, Owners>();
  let last: Owners | undefined;
  for (const { sequences, tokens } of runs) {
    const key = String(sequences);
    const found = owners.get(key);
    if (found === undefined) owners.set(key, { sequences, tokens, isOnePiece: true });
    else {
      found.tokens += tokens;
      found.isOnePiece &&= found === last;
    }
    last = owners.get(key);
  }
  return [...owners.values()];
}

/**
 * True where it is certain that an engine took the tokens of a batch in their order, which takes as many tokens of each sequence in each graph
 * only where they do not fit else, as llama.cpp does where some layers look back over a window.
 * @param graphs tokens of each graph, in their order
 */
export function keptOrder(runs: readonly RowRun[], graphs: readonly number[]): boolean {
  if (keepsOrder(runs)) return true;
  const [first = 0] = graphs;
  const last = graphs.at(-1) ?? 0;
  // In their order each graph but the last has as many as there is room for.
  if (last > first || graphs.slice(0, -1).some((tokens) => tokens !== first)) return false;
  const owners = ownersIn(runs);
  const ids = owners.flatMap(({ sequences }) => sequences);
  // Tokens that share a sequence are in no graph together, but of the same sequences.
  if (new Set(ids).size !== ids.length) return graphs.length === 1;
  const ofEach = first / owners.length;
  const mayBeDivided = Number.isInteger(ofEach) && owners.every(({ tokens }) => tokens >= ofEach);
  if (!mayBeDivided) return true;
  return graphs.length === 1 && owners.every(({ isOnePiece }) => isOnePiece);
}

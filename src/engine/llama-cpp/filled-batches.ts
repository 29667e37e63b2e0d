/** Batches that a program fills token by token before it hands them over (llama_batch_ext), by what it was seen to put in. */
import type { BatchRun } from "./decode-step.ts";

export interface FilledBatches {
  /** A token of a sequence comes behind those that are there. */
  add(batch: bigint, sequence: number): void;
  /** The token at `index` is of one more sequence. */
  share(batch: bigint, index: number, sequence: number): void;
  /** The token at `index` stands at a position; null where that could not be read. */
  place(batch: bigint, index: number, position: number | null): void;
  /** The token at `index` asks for logits, or does no more. */
  ask(batch: bigint, index: number, asks: boolean): void;
  /** It was made or emptied, or is gone. */
  empty(batch: bigint): void;
  /** All that was put in since it was empty; null where a sequence or a position is not known. */
  runsOf(batch: bigint): readonly BatchRun[] | null;
}

interface Token {
  readonly sequences: number[];
  position: number | null;
  asks: boolean;
}

/** Batches and tokens that are kept; a server has a batch for each context. */
const BATCHES = 256;
const TOKENS = 1 << 17;

function isSame(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((id, i) => id === other[i]);
}

/** No batch yet. */
export function filledBatches(): FilledBatches {
  const batches = new Map<bigint, Token[]>();

  function tokenAt(batch: bigint, index: number): Token | undefined {
    return batches.get(batch)?.[index];
  }

  return {
    add(batch, sequence) {
      let tokens = batches.get(batch);
      if (tokens === undefined) {
        const [oldest] = batches.keys();
        if (oldest !== undefined && batches.size >= BATCHES) batches.delete(oldest);
        tokens = [];
        batches.set(batch, tokens);
      }
      if (tokens.length < TOKENS) tokens.push({ sequences: [sequence], position: null, asks: false });
    },
    share(batch, index, sequence) {
      const sequences = tokenAt(batch, index)?.sequences;
      if (sequences !== undefined && !sequences.includes(sequence)) sequences.push(sequence);
    },
    place(batch, index, position) {
      const token = tokenAt(batch, index);
      if (token !== undefined) token.position = position;
    },
    ask(batch, index, asks) {
      const token = tokenAt(batch, index);
      if (token !== undefined) token.asks = asks;
    },
    empty: (batch) => void batches.delete(batch),
    runsOf(batch) {
      const tokens = batches.get(batch) ?? [];
      const runs: { sequences: readonly number[]; position: number; tokens: number; asking: number }[] = [];
      for (const { sequences, position, asks } of tokens) {
        if (position === null || position < 0 || sequences.some((id) => id < 0)) return null;
        const ids = sequences.length === 1 ? sequences : sequences.toSorted((one, other) => one - other);
        const last = runs.at(-1);
        if (last !== undefined && last.position + last.tokens === position && isSame(last.sequences, ids)) {
          last.tokens += 1;
          last.asking = asks ? last.asking + 1 : 0;
        } else runs.push({ sequences: [...ids], position, tokens: 1, asking: asks ? 1 : 0 });
      }
      return runs.length === 0 ? null : runs;
    },
  };
}

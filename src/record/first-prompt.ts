/** How long the first prompt of a run took: one that is longer than a batch comes in several. */
import { detailOf, draftGuesses, promptSequences } from "../schema/step-detail.ts";
import { isOfPrompt, mostOf, tokensBySequence } from "./decoded-beside.ts";

/** A call that decodes or encodes, and that came to its end. */
export interface CalledBatch {
  readonly pid: number;
  readonly begin_ns: bigint;
  readonly end_ns: bigint;
  readonly n_tokens: number;
  /** One where they are not known. */
  readonly n_sequences: number;
  /** Whether it has more than the next token of each sequence. */
  readonly has_prompt: boolean;
  readonly position_first: number | null;
  readonly sequence_id: number | null;
  readonly detail: string | null;
}

export interface FirstPrompt {
  /** A context was made: no prompt of it began before it. */
  make(pid: number, context: bigint): void;
  /** @param batch in the order in which they ended */
  take(batch: CalledBatch): void;
  /** What was taken for a prompt was none: the next one is the first. */
  forget(): void;
  /**
   * From the begin of its first batch to the end of its last, where the engine tells whose tokens a batch has, else of its first; null before any.
   * Where a context was there before, what goes on where nothing was seen of its sequence may have begun unseen, and is passed over.
   * A last token that has a batch for itself is not told from an answer, unless the engine tells it.
   */
  readonly took_ns: number | null;
}

interface Run {
  /** The context of the sequence. */
  readonly place: string;
  readonly sequence: string;
  readonly position: number;
  /** Behind its last token. */
  readonly end: number;
  /** More than one token without guesses, or one that is known to be of a prompt. */
  readonly isPrompt: boolean;
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

const placeOf = (pid: number, context: string): string => `${pid} ${context}`;

/** The tokens of a batch by sequence; empty where they are not told. */
function runsOf({ pid, n_tokens, n_sequences, position_first, sequence_id, detail }: CalledBatch): Run[] {
  const { kv_rows, context } = detailOf({ detail });
  const place = placeOf(pid, String(context));
  const prompts = promptSequences({ detail });
  const guesses = draftGuesses({ detail });
  const isPrompt = (named: unknown, tokens: number): boolean =>
    tokens - (guesses.get(named) ?? 0) > 1 || isOfPrompt(named, prompts);
  const sequenceOf = (named: unknown): string => `${place} ${JSON.stringify(named)}`;
  if (Array.isArray(kv_rows)) {
    const all = tokensBySequence(kv_rows);
    const runs = new Map<string, Run>();
    for (const row of kv_rows as readonly unknown[]) {
      const [named, position, tokens]: unknown[] = Array.isArray(row) ? row : [];
      if (!isWhole(position) || !isWhole(tokens)) continue;
      const sequence = sequenceOf(named);
      const before = runs.get(sequence);
      const end = Math.max(before?.end ?? 0, position + tokens);
      const run = { place, sequence, position, isPrompt: isPrompt(named, mostOf(named, all)) };
      runs.set(sequence, { ...(before ?? run), end });
    }
    return [...runs.values()];
  }
  if (n_sequences > 1 || position_first === null) return [];
  const named = sequence_id ?? 0;
  const run = { place, sequence: sequenceOf(named), position: position_first, end: position_first + n_tokens };
  return [{ ...run, isPrompt: isPrompt(named, n_tokens) }];
}

export function createFirstPrompt(): FirstPrompt {
  let first: CalledBatch | null = null;
  /** Of each sequence whose prompt may be the first: where it goes on, and how long it took so far. */
  const parts = new Map<string, { position: number; took_ns: number }>();
  let ended_ns: number | null = null;
  const made = new Set<string>();
  /** Of each sequence of which something was seen: where a prompt that began unseen would go on, or -1 where it came to its end. */
  const unseen = new Map<string, number>();
  /** Whether a run begins a prompt; notes what may have begun before. */
  const begins = ({ place, sequence, position, end, isPrompt }: Run): boolean => {
    const goesOn = unseen.get(sequence);
    const isBegin = position === 0 || made.has(place) || (goesOn !== undefined && goesOn !== position);
    if (isPrompt && isBegin) return true;
    unseen.set(sequence, isPrompt ? end : -1);
    return false;
  };
  return {
    make(pid, context) {
      made.add(placeOf(pid, `0x${context.toString(16)}`));
    },
    take(batch) {
      if (ended_ns !== null) return;
      const runs = runsOf(batch);
      if (first === null) {
        const begun = runs.filter(begins);
        if (!batch.has_prompt || (runs.length > 0 && begun.length === 0)) return;
        first = batch;
        const took_ns = Number(batch.end_ns - batch.begin_ns);
        for (const { sequence, end } of begun) parts.set(sequence, { position: end, took_ns });
        if (parts.size === 0) ended_ns = took_ns;
        return;
      }
      if (batch.pid !== first.pid) return;
      if (runs.length === 0) ended_ns = Number(first.end_ns - first.begin_ns);
      for (const { sequence, position, end, isPrompt } of runs) {
        const part = parts.get(sequence);
        if (part === undefined) continue;
        // Behind an image it goes on further on.
        if (isPrompt && position >= part.position) {
          part.position = end;
          part.took_ns = Number(batch.end_ns - first.begin_ns);
        } else ended_ns = Math.min(ended_ns ?? part.took_ns, part.took_ns);
      }
    },
    forget() {
      first = null;
      parts.clear();
      ended_ns = null;
    },
    get took_ns() {
      if (first === null) return null;
      return ended_ns ?? Math.min(...Array.from(parts.values(), ({ took_ns }) => took_ns));
    },
  };
}

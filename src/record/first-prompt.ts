/** How long the first prompt of a run took: one that is longer than a batch comes in several. */
import { detailOf } from "../schema/step-detail.ts";

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
  /** @param batch in the order in which they ended */
  take(batch: CalledBatch): void;
  /** What was taken for a prompt was none: the next one is the first. */
  forget(): void;
  /**
   * From the begin of its first batch to the end of its last, where the engine tells whose tokens a batch has, else of its first; null before any.
   * A last token that has a batch for itself is not told from an answer.
   */
  readonly took_ns: number | null;
}

interface Run {
  readonly sequence: string;
  readonly position: number;
  readonly tokens: number;
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

/** The tokens of a batch by sequence; empty where they are not told. */
function runsOf({ n_tokens, n_sequences, position_first, sequence_id, detail }: CalledBatch): Run[] {
  const { kv_rows, context } = detailOf({ detail });
  const sequenceOf = (named: unknown): string => `${String(context)} ${JSON.stringify(named)}`;
  if (Array.isArray(kv_rows)) {
    return kv_rows.flatMap((row: unknown) => {
      const [named, position, tokens] = Array.isArray(row) ? row : [];
      return isWhole(position) && isWhole(tokens) ? [{ sequence: sequenceOf(named), position, tokens }] : [];
    });
  }
  if (n_sequences > 1 || position_first === null) return [];
  return [{ sequence: sequenceOf(sequence_id ?? 0), position: position_first, tokens: n_tokens }];
}

export function createFirstPrompt(): FirstPrompt {
  let first: CalledBatch | null = null;
  /** Of each sequence whose prompt may be the first: where it goes on, and how long it took so far. */
  const parts = new Map<string, { position: number; took_ns: number }>();
  let ended_ns: number | null = null;
  return {
    take(batch) {
      if (ended_ns !== null) return;
      const runs = runsOf(batch);
      if (first === null) {
        if (!batch.has_prompt) return;
        first = batch;
        const took_ns = Number(batch.end_ns - batch.begin_ns);
        for (const { sequence, position, tokens } of runs)
          if (tokens > 1) parts.set(sequence, { position: position + tokens, took_ns });
        if (parts.size === 0) ended_ns = took_ns;
        return;
      }
      if (batch.pid !== first.pid) return;
      if (runs.length === 0) ended_ns = Number(first.end_ns - first.begin_ns);
      for (const { sequence, position, tokens } of runs) {
        const part = parts.get(sequence);
        if (part === undefined) continue;
        if (tokens > 1 && position === part.position) {
          part.position += tokens;
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

/** Tokens that a batch decodes for some sequences beside the prompts of others, as servers batch them. */
import { detailOf, draftGuesses, promptSequences } from "../schema/step-detail.ts";

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

const sequencesOf = (named: unknown): readonly unknown[] => (Array.isArray(named) ? named : [named]);

/**
 * How many tokens of a batch each sequence has: those of an image are at one position, and those of several may come by turns, so that a run
 * of one token is not all of its sequence.
 * @param rows as [sequences, first position, tokens]
 */
export function tokensBySequence(rows: readonly unknown[]): ReadonlyMap<unknown, number> {
  const all = new Map<unknown, number>();
  for (const row of rows) {
    const [named, , tokens]: unknown[] = Array.isArray(row) ? row : [];
    if (!isWhole(tokens)) continue;
    for (const sequence of sequencesOf(named)) all.set(sequence, (all.get(sequence) ?? 0) + tokens);
  }
  return all;
}

/** The most tokens that one of some sequences has. */
export function mostOf(named: unknown, all: ReadonlyMap<unknown, number>): number {
  return Math.max(...sequencesOf(named).map((sequence) => all.get(sequence) ?? 0));
}

/**
 * True of a run of rows of one sequence, or of several that share it, that is one token behind others of it, with guesses or without, and not
 * of its prompt.
 */
function isDecoded(
  row: unknown,
  prompts: readonly unknown[],
  guesses: ReadonlyMap<unknown, number>,
  all: ReadonlyMap<unknown, number>,
): boolean {
  if (!Array.isArray(row)) return false;
  const [named, position, tokens] = row;
  const isOne = isWhole(tokens) && mostOf(named, all) - (guesses.get(named) ?? 0) === 1;
  return isWhole(position) && position > 0 && isOne && !isOfPrompt(named, prompts);
}

/** True where a run of one token is of sequences whose one token is of their prompt. @param named a sequence, or a list of them */
export function isOfPrompt(named: unknown, prompts: readonly unknown[]): boolean {
  return prompts.includes(sequencesOf(named)[0]);
}

/**
 * How many tokens of a batch that works on a prompt are the next one of a sequence, guesses behind them left out.
 * @param detail of the batch in the step table: its `kv_rows` are [sequences, first position, tokens]; text that is none has none
 */
export function decodedBeside(detail: string | null): number {
  const { kv_rows } = detailOf({ detail });
  const [prompts, guesses] = [promptSequences({ detail }), draftGuesses({ detail })];
  if (!Array.isArray(kv_rows)) return 0;
  const all = tokensBySequence(kv_rows);
  return kv_rows.filter((row) => isDecoded(row, prompts, guesses, all)).length;
}

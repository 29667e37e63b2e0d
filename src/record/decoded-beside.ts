/** Tokens that a batch decodes for some sequences beside the prompts of others, as servers batch them. */
import { detailOf, draftGuesses, promptSequences } from "../schema/step-detail.ts";

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

/**
 * True of a run of rows of one sequence, or of several that share it, that is one token behind others of it, with guesses or without, and not
 * of its prompt.
 */
function isDecoded(row: unknown, prompts: readonly unknown[], guesses: ReadonlyMap<unknown, number>): boolean {
  if (!Array.isArray(row)) return false;
  const [named, position, tokens] = row;
  const isOne = isWhole(tokens) && tokens - (guesses.get(named) ?? 0) === 1;
  return isWhole(position) && position > 0 && isOne && !isOfPrompt(named, prompts);
}

/** True where a run of one token is of sequences whose one token is of their prompt. @param named a sequence, or a list of them */
export function isOfPrompt(named: unknown, prompts: readonly unknown[]): boolean {
  const [first]: unknown[] = Array.isArray(named) ? named : [named];
  return prompts.includes(first);
}

/**
 * How many tokens of a batch that works on a prompt are the next one of a sequence, guesses behind them left out.
 * @param detail of the batch in the step table: its `kv_rows` are [sequences, first position, tokens]; text that is none has none
 */
export function decodedBeside(detail: string | null): number {
  const { kv_rows } = detailOf({ detail });
  const [prompts, guesses] = [promptSequences({ detail }), draftGuesses({ detail })];
  return Array.isArray(kv_rows) ? kv_rows.filter((row) => isDecoded(row, prompts, guesses)).length : 0;
}

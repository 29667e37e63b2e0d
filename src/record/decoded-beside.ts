/** Tokens that a batch decodes for some sequences beside the prompts of others, as servers batch them. */
import { detailOf } from "../schema/step-detail.ts";

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

/** True of a run of rows of one sequence, or of several that share it, that is one token behind others of it. */
function isDecoded(row: unknown): boolean {
  if (!Array.isArray(row)) return false;
  const [, position, tokens] = row;
  return isWhole(position) && position > 0 && tokens === 1;
}

/**
 * How many tokens of a batch that works on a prompt are the next one of a sequence.
 * @param detail of the batch in the step table: its `kv_rows` are [sequences, first position, tokens]; text that is none has none
 */
export function decodedBeside(detail: string | null): number {
  const { kv_rows } = detailOf({ detail });
  return Array.isArray(kv_rows) ? kv_rows.filter(isDecoded).length : 0;
}

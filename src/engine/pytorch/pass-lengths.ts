/**
 * What the lengths of passes that follow each other say of their tokens, where one is drawn from each: a program without a cache computes
 * the whole text again for each token, and a server that puts the tokens of all sequences in one row decodes as many again and again.
 */

/** A pass that is over. */
export interface DrawnPass {
  readonly table: string;
  readonly tokens: number;
  /** Null where its indices have one dimension, which does not tell it. */
  readonly sequences: number | null;
  /** A token was drawn from it. */
  readonly isDrawn: boolean;
  /** It put rows behind those of a cache. */
  readonly goesOn: boolean;
}

/** `recomputed`: tokens that were computed before; `packed`: those of several sequences in a row; null for what shows neither. */
export type PassLengths = "recomputed" | "packed" | null;

/** So many passes in a row that are one longer, or as long, as the one before: prompts do not come so by chance. */
const ALIKE = 4;

/** None seen yet. */
export function passLengths(): { pass(pass: DrawnPass): PassLengths } {
  let before: DrawnPass | null = null;
  let [grown, same] = [0, 0];
  let found: PassLengths = null;
  return {
    pass(pass) {
      const { table, tokens, sequences, isDrawn, goesOn } = pass;
      const isNext = isDrawn && before?.isDrawn === true && before.table === table && before.sequences === sequences;
      const more = isNext && before !== null ? tokens - before.tokens : null;
      before = pass;
      grown = more === (sequences ?? 1) && !goesOn ? grown + 1 : 0;
      same = more === 0 && sequences === null && tokens > 1 ? same + 1 : 0;
      if (grown >= ALIKE) found ??= "recomputed";
      if (same >= ALIKE) found ??= "packed";
      return found;
    },
  };
}

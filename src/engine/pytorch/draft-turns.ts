/**
 * Whether two models of a thread take turns as in assisted generation: one guesses, a token in each pass, and the other checks all
 * guesses and the token in front of them in one pass.
 */

export interface DraftTurns {
  /** A pass of so many tokens over the table of a model. @returns true once it is known that one guesses for another */
  pass(table: string, tokens: number): boolean;
}

/** So many checks in a row, each of as many tokens as there were guesses and one more: by chance that does not come. */
const CHECKS = 3;

/** None seen yet. */
export function draftTurns(): DraftTurns {
  let [table, other]: [string | null, string | null] = [null, null];
  /** Passes over the table since the other one. */
  let passes = 0;
  let checks = 0;
  return {
    pass(next, tokens) {
      if (next === table) {
        passes += 1;
        return checks >= CHECKS;
      }
      const isCheck = next === other && tokens === passes + 1;
      if (checks < CHECKS && tokens > 1) checks = isCheck ? checks + 1 : 0;
      [other, table, passes] = [table, next, 1];
      return checks >= CHECKS;
    },
  };
}

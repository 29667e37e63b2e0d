/** Which tokens of a sequence are meant. */

/** Tokens of a batch, one behind the other, of the same sequences at ascending positions. */
export interface RowRun {
  readonly sequences: readonly number[];
  readonly position: number;
  readonly tokens: number;
}

/** Positions from one to before another. */
export interface Positions {
  readonly from: number;
  readonly to: number;
}

export const ALL_POSITIONS: Positions = { from: 0, to: Number.POSITIVE_INFINITY };

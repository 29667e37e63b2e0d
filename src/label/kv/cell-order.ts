/** Whether a row's cell is its position, as where one sequence alone has filled its cache from the start. */

export interface CellOrder {
  /** True until something came that leaves it open where rows lie. */
  isLinear(): boolean;
  /** True where no cell is known of the rows either that were there before that. */
  isDoubtful(): boolean;
  leave(): void;
  /** A row comes. @param before position of the row before it; -1 for none */
  follow(position: number, before: number): void;
  /** The cache is empty. */
  begin(): void;
}

/** @param mayMove whether the engine moves rows once they are not in order */
export function cellOrder(mayMove: boolean): CellOrder {
  let isLinear = true;
  /** What was before the first batch that was seen was taken to be so, and was not: then no cell is known. */
  let sawStart = false;
  let isDoubtful = false;

  function leave(): void {
    isLinear = false;
    isDoubtful ||= mayMove || !sawStart;
  }

  return {
    isLinear: () => isLinear,
    isDoubtful: () => isDoubtful,
    leave,
    // Of an image all rows may stand at one position, and what comes behind it further on than there are rows.
    follow(position, before) {
      if (position !== before + 1) leave();
    },
    begin() {
      isLinear = true;
      sawStart = true;
    },
  };
}

/** The other sequences that have a row: lists that begin alike have that part once, whatever was put behind it. */
import { float64Column, uint32Column } from "../../columnar/growing-column.ts";
import { SHARED_WITH_NONE } from "./kv-token.ts";

/** The list of a row that is its sequence's alone. */
export const NO_OTHERS = 0;

export interface SharedLists {
  /** A list with one sequence more, the same where it has it: one list for all rows that follow each other. */
  more(list: number, id: number): number;
  /** The list of these. */
  of(ids: readonly number[]): number;
  /** The sequences in order; the same array again for the list of the call before. */
  ids(list: number): readonly number[];
}

export function sharedLists(): SharedLists {
  const [beforeAt, idAt] = [uint32Column(), float64Column()];
  let newest = NO_OTHERS;
  let last = { list: NO_OTHERS, id: Number.NaN, now: NO_OTHERS };
  let read = { list: NO_OTHERS, ids: SHARED_WITH_NONE };

  function has(list: number, id: number): boolean {
    for (let one = list; one !== NO_OTHERS; one = beforeAt.get(one)) if (idAt.get(one) === id) return true;
    return false;
  }

  function put(list: number, id: number): number {
    newest += 1;
    beforeAt.set(newest, list);
    idAt.set(newest, id);
    return newest;
  }

  return {
    more(list, id) {
      if (last.list !== list || last.id !== id) last = { list, id, now: has(list, id) ? list : put(list, id) };
      return last.now;
    },
    of: (ids) => ids.reduce(put, NO_OTHERS),
    ids(list) {
      if (list === NO_OTHERS) return SHARED_WITH_NONE;
      if (list === read.list) return read.ids;
      const ids: number[] = [];
      for (let one = list; one !== NO_OTHERS; one = beforeAt.get(one)) ids.push(idAt.get(one));
      read = { list, ids: ids.reverse() };
      return read.ids;
    },
  };
}

/** The other sequences that have a row: one list for all rows that follow each other. */

/** Makes lists with one sequence more. */
export function sharedLists(): (others: readonly number[], id: number) => readonly number[] {
  let last: { readonly before: readonly number[]; readonly id: number; readonly now: readonly number[] } | null = null;
  return (others, id) => {
    if (last?.before !== others || last.id !== id)
      last = { before: others, id, now: others.includes(id) ? others : [...others, id] };
    return last.now;
  };
}

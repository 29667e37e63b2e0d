/** The positions that a sequence has in a cache, as calls leave them: each from one to before another, in order and apart. */
export type HeldPositions = readonly (readonly [from: number, end: number])[];

/** The position behind the last; 0 where there is none. */
export const endOf = (held: HeldPositions): number => held.at(-1)?.[1] ?? 0;

/** Those that are in either. */
export function together(one: HeldPositions, other: HeldPositions): HeldPositions {
  const all: [from: number, end: number][] = [];
  for (const [from, end] of [...one, ...other].sort(([left], [right]) => left - right)) {
    const last = all.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], end);
    else all.push([from, end]);
  }
  return all;
}

/** Those from one position to before another. */
export function within(held: HeldPositions, from: number, end: number): HeldPositions {
  return held.flatMap(([first, last]) => {
    const part = [Math.max(first, from), Math.min(last, end)] as const;
    return part[0] < part[1] ? [part] : [];
  });
}

/** The others. */
export function without(held: HeldPositions, from: number, end: number): HeldPositions {
  return end <= from ? held : [...within(held, Number.NEGATIVE_INFINITY, from), ...within(held, end, endOf(held))];
}

/** The same where those from one to before another went by so many; what came before the first is gone. */
export function moved(held: HeldPositions, from: number, end: number, positions: number): HeldPositions {
  const there = within(held, from, end).map(([first, last]) => [first + positions, last + positions] as const);
  return together(without(held, from, end), within(there, 0, Number.POSITIVE_INFINITY));
}

/** True where all of the second are among the first. */
export function covers(held: HeldPositions, others: HeldPositions): boolean {
  return others.every(([from, end]) => held.some(([first, last]) => first <= from && end <= last));
}

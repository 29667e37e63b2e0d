/** Ranges of addresses: joined, and cut around each other. */
export interface Range {
  readonly from: bigint;
  readonly to: bigint;
}

/** Sorted ranges without overlap that cover the same bytes. */
export function unionOf(ranges: readonly Range[]): Range[] {
  const out: { from: bigint; to: bigint }[] = [];
  for (const { from, to: end } of [...ranges].sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0))) {
    const last = out.at(-1);
    if (last === undefined || from > last.to) {
      if (end > from) out.push({ from, to: end });
    } else if (end > last.to) {
      last.to = end;
    }
  }
  return out;
}

/** The parts of a range outside sorted ranges without overlap. */
export function outside(range: Range, holes: readonly Range[]): Range[] {
  const out: Range[] = [];
  let next = range.from;
  for (const hole of holes) {
    if (hole.to <= next) continue;
    if (hole.from >= range.to) break;
    if (hole.from > next) out.push({ from: next, to: hole.from });
    next = hole.to;
  }
  if (next < range.to) out.push({ from: next, to: range.to });
  return out;
}

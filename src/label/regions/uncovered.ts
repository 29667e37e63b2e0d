/** What is left of a mapping, in addresses and in time, when the engine's ranges are cut out of it. */

/** Addresses [begin, end) over the time [birth_ns, death_ns). */
export interface Extent {
  readonly begin: number;
  readonly end: number;
  readonly birth_ns: number;
  readonly death_ns: number;
}

/** Parts of [birth, death) that none of the intervals covers; the intervals are in order of birth. */
function uncoveredTimes(whole: Extent, covers: readonly Extent[]): [birth: number, death: number][] {
  const left: [number, number][] = [];
  let from = whole.birth_ns;
  for (const cover of covers) {
    if (cover.birth_ns > from) left.push([from, Math.min(cover.birth_ns, whole.death_ns)]);
    from = Math.max(from, cover.death_ns);
    if (from >= whole.death_ns) break;
  }
  if (from < whole.death_ns) left.push([from, whole.death_ns]);
  return left;
}

/**
 * Cuts `covers` out of `whole`. The pieces are disjoint, ordered by address, then time; neighbours in address that
 * lived over the same time are one piece.
 */
export function uncovered(whole: Extent, covers: readonly Extent[]): Extent[] {
  const meeting = covers.filter(
    (cover) =>
      cover.begin < whole.end &&
      cover.end > whole.begin &&
      cover.birth_ns < whole.death_ns &&
      cover.death_ns > whole.birth_ns,
  );
  if (meeting.length === 0) return whole.begin < whole.end && whole.birth_ns < whole.death_ns ? [whole] : [];
  const begins = meeting.toSorted((left, right) => left.begin - right.begin);
  const ends = meeting.toSorted((left, right) => left.end - right.end);
  const cuts = [...new Set([whole.begin, whole.end, ...meeting.flatMap((cover) => [cover.begin, cover.end])])]
    .filter((cut) => cut >= whole.begin && cut <= whole.end)
    .sort((left, right) => left - right);
  const live = new Set<Extent>();
  const open = new Map<string, Extent>();
  const pieces: Extent[] = [];
  let begun = 0;
  let ended = 0;
  for (let i = 0; i + 1 < cuts.length; i++) {
    const begin = cuts[i] as number;
    const end = cuts[i + 1] as number;
    for (let cover = begins[begun]; cover !== undefined && cover.begin <= begin; cover = begins[++begun])
      live.add(cover);
    for (let cover = ends[ended]; cover !== undefined && cover.end <= begin; cover = ends[++ended]) live.delete(cover);
    const times = uncoveredTimes(
      whole,
      [...live].sort((left, right) => left.birth_ns - right.birth_ns),
    );
    const kept = new Set<string>();
    for (const [birth_ns, death_ns] of times) {
      const key = `${birth_ns}:${death_ns}`;
      const before = open.get(key);
      open.set(key, { begin: before?.begin ?? begin, end, birth_ns, death_ns });
      kept.add(key);
    }
    for (const [key, piece] of open) {
      if (kept.has(key)) continue;
      pieces.push(piece);
      open.delete(key);
    }
  }
  pieces.push(...open.values());
  return pieces.sort((left, right) => left.begin - right.begin || left.birth_ns - right.birth_ns);
}

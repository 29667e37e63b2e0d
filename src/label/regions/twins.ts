/** Regions that hold the same bytes of one file at the same time: a process may map it more than once, and its pages are there once. */

/** A region of a file. */
export interface FileRegion {
  /** The same for the same bytes of the same file in one process. */
  readonly bytes: string;
  readonly birth_ns: number;
  readonly death_ns: number;
}

/**
 * Positions of the regions that another one outlives which holds the same bytes while they are there; of two that live
 * equally long the later one. What is left holds every byte once at each moment at which most are held.
 * @param regions null for what is in no file
 */
export function outlivedTwins(regions: readonly (FileRegion | null)[]): ReadonlySet<number> {
  const twins = new Set<number>();
  const numbered = regions.flatMap((region, number) => (region === null ? [] : [{ ...region, number }]));
  for (const same of Map.groupBy(numbered, ({ bytes }) => bytes).values()) {
    if (same.length < 2) continue;
    const kept: FileRegion[] = [];
    const length = ({ birth_ns, death_ns }: FileRegion): number => death_ns - birth_ns;
    for (const region of same.toSorted((a, b) => length(b) - length(a) || a.birth_ns - b.birth_ns)) {
      if (kept.some((other) => other.birth_ns < region.death_ns && region.birth_ns < other.death_ns)) {
        twins.add(region.number);
      } else kept.push(region);
    }
  }
  return twins;
}

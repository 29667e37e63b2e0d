/** How much of a span the memory of a stratum is there: its bytes are told by draws, and none can fall on it before it comes or once it is gone. */
import type { WatchSample } from "../input/input.ts";
import type { RegionSet } from "../input/region-set.ts";
import { coveredNs, type Span } from "../input/span.ts";

type Life = readonly [birth_ns: number, death_ns: number];

/** The lives put together: those that overlap as one, in order. */
function together(lives: readonly Life[]): Life[] {
  const out: [number, number][] = [];
  for (const [birth, death] of [...lives].sort(([a], [b]) => a - b)) {
    const last = out.at(-1);
    if (last !== undefined && birth <= last[1]) last[1] = Math.max(last[1], death);
    else out.push([birth, death]);
  }
  return out;
}

/**
 * Share of the span in which a stratum has memory, in [0, 1], by the regions on which its watches fell; those of the class on which none
 * fell may be of any stratum. 1 where no region is known.
 * @param draws of the strata of a class, whatever was found where they fell
 */
export function stratumLives(
  draws: readonly WatchSample[],
  { all, rows }: RegionSet,
  span: Span,
): (stratum: string) => number {
  if (rows.length === 0 || !(span.window_ns > 0)) return () => 1;
  const end = span.end_ns[span.end_ns.length - 1] ?? 0;
  // What was there before the run, or outlives the span, is so whenever it came or goes.
  const life = (birth: number, death: number | null): Life => [
    Math.max(0, birth),
    death === null || death >= end ? Number.POSITIVE_INFINITY : death,
  ];
  const watched = new Map<number, Set<number>>();
  const lifeOf = ({ region_birth_ns, region_death_ns }: WatchSample): Life => life(region_birth_ns, region_death_ns);
  for (const [birth, death] of draws.map(lifeOf)) watched.set(birth, (watched.get(birth) ?? new Set()).add(death));
  const lives = Map.groupBy(draws, ({ stratum }) => stratum);
  const others: Life[] = [];
  for (const row of rows) {
    const one = life(all.birth_ns[row] as number, all.death_ns[row] as number);
    if (watched.get(one[0])?.has(one[1]) !== true) others.push(one);
  }
  const ofAny = together(others);
  const found = new Map<string, number>();
  const shareOf = (stratum: string): number => {
    const pieces = together([...ofAny, ...(lives.get(stratum) ?? []).map(lifeOf)]);
    return pieces.reduce((sum, piece) => sum + coveredNs(span, ...piece), 0) / span.window_ns;
  };
  return (stratum) => {
    const share = found.get(stratum) ?? shareOf(stratum);
    found.set(stratum, share);
    return share;
  };
}

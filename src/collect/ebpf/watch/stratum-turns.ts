/** How the turns of watches are divided over strata. */

import type { RegionType } from "../../../schema/words.ts";

/** A stratum that has something to draw. */
export interface Drawable {
  readonly region_type: RegionType;
  /** In memory, as far as that is known. */
  readonly bytes: number;
  /** Turns beside another with 1; those of its class where it is absent. */
  readonly turns: number | undefined;
}

const CLASSES_OF_DATA: ReadonlySet<RegionType> = new Set(["weight", "kv_cache", "activation"]);
/** Most of the heap, stacks and libraries is not touched while a watch looks: they would mostly buy waiting time. */
const TURNS_OF_THE_REST = 0.25;
/** Share of the turns of the rest that goes by bytes: without an engine the data is in one kind of mapping, which is not known beforehand. */
const BY_BYTES = 0.5;

/**
 * Share of the turns that each stratum has, in (0, 1]: equal for classes of data whatever their size. The others have a quarter of a turn each,
 * of which one half is equal and one half is theirs by their bytes.
 */
export function sharesOfStrata(strata: ReadonlyMap<string, Drawable>): Map<string, number> {
  const rest = [...strata.values()].filter(({ region_type }) => !CLASSES_OF_DATA.has(region_type));
  const restBytes = rest.reduce((sum, { bytes }) => sum + bytes, 0);
  const turnsOf = ({ region_type, bytes, turns }: Drawable): number => {
    if (turns !== undefined) return turns;
    if (CLASSES_OF_DATA.has(region_type)) return 1;
    const byBytes = restBytes > 0 ? (rest.length * bytes) / restBytes : 1;
    return TURNS_OF_THE_REST * (1 - BY_BYTES + BY_BYTES * byBytes);
  };
  const all = [...strata.values()].reduce((sum, stratum) => sum + turnsOf(stratum), 0);
  return new Map([...strata].map(([name, stratum]) => [name, turnsOf(stratum) / all]));
}

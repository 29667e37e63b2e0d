/** How the turns of watches are divided over strata. */

import { wholeStratum } from "../../../regions/sampled-stratum.ts";
import type { RegionType } from "../../../schema/words.ts";

/** A stratum that has something to draw. */
export interface Drawable {
  readonly region_type: RegionType;
  /** In memory, as far as that is known. */
  readonly bytes: number;
  /** Turns beside another with 1; those of its class where it is absent. */
  readonly turns: number | undefined;
  /** Of a part of another stratum: what it has of the turns of both; turns of its own where it is absent. */
  readonly part_of_turns?: number | undefined;
}

const CLASSES_OF_DATA: ReadonlySet<RegionType> = new Set(["weight", "kv_cache", "activation"]);
/** Most of the heap, stacks and libraries is not touched while a watch looks: they would mostly buy waiting time. */
const TURNS_OF_THE_REST = 0.25;
/** Share of the turns of the rest that goes by bytes: without an engine the data is in one kind of mapping, which is not known beforehand. */
const BY_BYTES = 0.5;

/**
 * Share of the turns that each stratum has, in (0, 1]: equal for classes of data whatever their size. The others have a quarter of a turn each,
 * of which one half is equal and one half is theirs by their bytes. A part that has some of its whole's turns takes them from no other.
 */
export function sharesOfStrata(strata: ReadonlyMap<string, Drawable>): Map<string, number> {
  const wholeOf = (name: string): string => {
    const whole = wholeStratum(name);
    return strata.get(name)?.part_of_turns !== undefined && strata.has(whole) ? whole : name;
  };
  const bytesOf = new Map<string, number>();
  for (const [name, { bytes }] of strata) {
    bytesOf.set(wholeOf(name), (bytesOf.get(wholeOf(name)) ?? 0) + bytes);
  }
  const wholes = [...bytesOf].flatMap(([name, bytes]) => {
    const stratum = strata.get(name);
    return stratum === undefined ? [] : [{ ...stratum, name, bytes }];
  });
  const rest = wholes.filter(({ region_type }) => !CLASSES_OF_DATA.has(region_type));
  const restBytes = rest.reduce((sum, { bytes }) => sum + bytes, 0);
  const turnsOf = ({ region_type, bytes, turns }: Drawable): number => {
    if (turns !== undefined) return turns;
    if (CLASSES_OF_DATA.has(region_type)) return 1;
    const byBytes = restBytes > 0 ? (rest.length * bytes) / restBytes : 1;
    return TURNS_OF_THE_REST * (1 - BY_BYTES + BY_BYTES * byBytes);
  };
  const all = wholes.reduce((sum, stratum) => sum + turnsOf(stratum), 0);
  const shares = new Map(wholes.map((stratum) => [stratum.name, turnsOf(stratum) / all]));
  for (const [name, { part_of_turns = 0 }] of strata) {
    const whole = wholeOf(name);
    const both = shares.get(whole) ?? 0;
    if (whole === name) continue;
    shares.set(name, part_of_turns * both);
    shares.set(whole, (1 - part_of_turns) * both);
  }
  return shares;
}

/** What the labels say of each class of mapped memory: regions, most bytes at a time, and accesses; unnamed ones by kind of mapping. */
import type { Regions } from "../../label/regions/region-map.ts";
import { isGuess } from "../../schema/words.ts";
import { peakBytes } from "./class-bytes.ts";
import { regionSets } from "./region-set.ts";
import { spanOf } from "./span.ts";

export interface MappedTotal {
  readonly region_type: string;
  readonly mapping_kind: string | null;
  readonly regions: number;
  readonly bytes: number;
  /** The most at one moment of what was given its class by a guess. */
  readonly guessed_bytes: number;
  readonly access_rows: number;
}

/**
 * Classes by name, then by kind of mapping.
 * @param rowsOf rows of the trace by region
 */
export function mappedTotals(regions: Regions, rowsOf: (region: number) => number, windowNs: number): MappedTotal[] {
  const whole = spanOf("all", "all", [[Number.NEGATIVE_INFINITY, windowNs]]);
  const kindOf = ({ region_type, mapping_kind }: Regions["facts"][number]) =>
    region_type === "unknown" ? mapping_kind : null;
  const sets = regionSets(regions, (facts) => `${facts.region_type}/${kindOf(facts) ?? ""}`);
  return [...sets.keys()].sort().flatMap((key) => {
    const set = sets.get(key);
    const facts = set === undefined ? undefined : regions.facts[regions.what[set.rows[0] as number] as number];
    if (set === undefined || facts === undefined) return [];
    const guessed = set.rows.filter((row) => isGuess(regions.facts[regions.what[row] as number]?.evidence ?? ""));
    return {
      region_type: facts.region_type,
      mapping_kind: kindOf(facts),
      regions: set.rows.length,
      bytes: peakBytes(set, whole),
      guessed_bytes: guessed.length === 0 ? 0 : peakBytes({ all: regions, rows: guessed }, whole),
      access_rows: set.rows.reduce((sum, row) => sum + rowsOf(row), 0),
    };
  });
}

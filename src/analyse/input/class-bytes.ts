/** How many bytes of a class there are while a span lasts. */
import { numberOrder } from "../../columnar/keys/number-order.ts";
import { CENSORED } from "../../label/regions/places.ts";
import type { RegionSet } from "./region-set.ts";
import { coveredNs, type Span } from "./span.ts";

/** Peaks that were found, by span and grain: several metrics ask for one, and a class may have millions of regions. */
const found = new WeakMap<RegionSet, Map<string, number>>();

/**
 * The most bytes of the regions alive at one moment of the span.
 * @param grain bytes of the blocks that count whole
 * @returns bytes, 0 without regions
 */
export function peakBytes(regions: RegionSet, span: Span, grain = 1): number {
  const from = span.begin_ns[0] ?? 0;
  const end = span.end_ns[span.end_ns.length - 1] ?? 0;
  const peaks = found.get(regions) ?? new Map<string, number>();
  found.set(regions, peaks);
  const key = `${from}/${end}/${grain}`;
  const peak = peaks.get(key) ?? mostHeld(regions, from, end, grain);
  peaks.set(key, peak);
  return peak;
}

/** Bytes of the regions that are there in the mean of the span's moments from `from_ns` on; 0 without such a moment. */
export function meanBytes(
  { all: { begin, end, birth_ns, death_ns }, rows }: RegionSet,
  span: Span,
  from_ns = Number.NEGATIVE_INFINITY,
): number {
  const window_ns = coveredNs(span, from_ns, Number.POSITIVE_INFINITY);
  if (!(window_ns > 0)) return 0;
  // What is there all the time has a share of exactly 1, so that its bytes stay whole.
  const share = (row: number): number =>
    coveredNs(span, Math.max(from_ns, birth_ns[row] as number), death_ns[row] as number) / window_ns;
  return rows.reduce((sum, row) => sum + ((end[row] as number) - (begin[row] as number)) * share(row), 0);
}

/** When the first of the regions was seen, where nobody saw it come: it was there before; -Infinity where one came in sight. */
export function firstSeenNs({ all: { birth_ns, censored }, rows }: RegionSet): number {
  const first_ns = rows.reduce((least, row) => Math.min(least, birth_ns[row] as number), Number.POSITIVE_INFINITY);
  const came = (row: number): boolean =>
    birth_ns[row] === first_ns && ((censored[row] as number) & CENSORED.birth) === 0;
  return rows.length === 0 || rows.some(came) ? Number.NEGATIVE_INFINITY : first_ns;
}

/** As `peakBytes`, of pages: those of a tensor in a file that a process has mapped more than once are there once. */
export function peakPageBytes({ all, rows }: RegionSet, span: Span): number {
  const isTwin = (row: number): boolean => all.facts[all.what[row] as number]?.is_twin === true;
  return peakBytes({ all, rows: rows.filter((row) => !isTwin(row)) }, span);
}

/** Goes through births and deaths in order of time; of one moment deaths come first. */
function mostHeld({ all, rows }: RegionSet, from: number, until: number, grain: number): number {
  const { begin, end, birth_ns, death_ns } = all;
  const byBirth = numberOrder(rows, birth_ns);
  const byDeath = numberOrder(rows, death_ns);
  const bytes = (row: number): number =>
    (Math.ceil((end[row] as number) / grain) - Math.floor((begin[row] as number) / grain)) * grain;
  let now = 0;
  let most = 0;
  let died = 0;
  for (let born = 0; born < byBirth.length; born++) {
    const row = byBirth[born] as number;
    const birth = birth_ns[row] as number;
    if (birth > until) break;
    if ((death_ns[row] as number) < from) continue;
    const time = Math.max(from, birth);
    for (; died < byDeath.length; died++) {
      const dead = byDeath[died] as number;
      const death = death_ns[dead] as number;
      if (death > time) break;
      if (death >= from) now -= bytes(dead);
    }
    now += bytes(row);
    if (now > most) most = now;
  }
  return most;
}

/** Share of the class's bytes that the draws could fall on, at most 1; null where no region is known. */
export function drawnShare(drawnBytes: number, regions: RegionSet, span: Span): number | null {
  const peak = peakBytes(regions, span);
  return peak > 0 ? Math.min(1, drawnBytes / peak) : null;
}

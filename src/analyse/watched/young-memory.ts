/** Memory that had come so lately that no watch could be drawn from it, or few look at it: what is done to it then is in no sum, or counts for too little. */
import { CENSORED } from "../../label/regions/places.ts";
import { firstIndex } from "../../statistics/first-index.ts";
import { CI_Z } from "../../statistics/interval.ts";
import type { Group } from "../input/group.ts";
import type { WatchSample } from "../input/input.ts";
import type { RegionSet } from "../input/region-set.ts";
import { coveredNs, type Span } from "../input/span.ts";
import type { WatchSet } from "../input/watch-set.ts";
import type { FaultCounts } from "../process/fault-sums.ts";

const PAGE_BYTES = 4096;
/** Above this share a sum lacks too much to be a value. */
export const MOST_YOUNG = 0.02;

export const youngReason = (share: number): string =>
  `memory of this class lives so shortly that ${Math.round(100 * share)} % of its time is over before it can be drawn`;

/**
 * Share of a class's bytes and time, from the begin of a span to its end, in which they were younger than `lag_ns`; 0 where
 * no birth was seen.
 */
export function youngShare({ all, rows }: RegionSet, span: Span, lag_ns: number): number {
  if (lag_ns <= 0) return 0;
  const from = span.begin_ns[0] ?? 0;
  const end = span.end_ns[span.end_ns.length - 1] ?? 0;
  let young = 0;
  let whole = 0;
  for (const row of rows) {
    const birth = all.birth_ns[row] as number;
    const first = Math.max(birth, from);
    const last = Math.min(all.death_ns[row] as number, end);
    if (last <= first) continue;
    const bytes = (all.end[row] as number) - (all.begin[row] as number);
    whole += bytes * (last - first);
    const isSeen = ((all.censored[row] as number) & CENSORED.birth) === 0;
    if (isSeen) young += bytes * Math.max(0, Math.min(last, birth + lag_ns) - first);
  }
  return whole > 0 ? young / whole : 0;
}

/** While so many draws fell on each stratum of a class, in the mean, chance spares no large region of it: one that has none then cannot be drawn. */
const MOST_SPARED = 4;
/** Sums of the same bytes differ by as much. */
const ROUNDING = 1e-9;

const lifeOf = (birth_ns: number, death_ns: number | null, end_ns: number): string =>
  `${Math.max(0, birth_ns)}/${death_ns === null || death_ns >= end_ns ? "" : death_ns}`;

/**
 * Share of a class's bytes and time in a span in which they were in regions that were gone before a draw met them, as far as the draws stand for
 * fewer bytes than the map has, by more than their own error: what is large and there for less than a turn of the watches may be most of
 * the class. Of many regions that are alike those that were drawn stand for the others.
 * @param draws that stand for `total_bytes`
 * @param error standard error of `total_bytes` over them
 * @param mean_bytes by the map, in the mean of the span
 */
export function unmetShare(
  draws: readonly WatchSample[],
  total_bytes: number,
  error: () => number,
  { regions: { all, rows }, span, mean_bytes }: Pick<WatchSet, "regions" | "span"> & { readonly mean_bytes: number },
): number {
  const lacking = mean_bytes > 0 ? 1 - total_bytes / mean_bytes : 0;
  if (!(lacking > ROUNDING) || draws.length === 0) return 0;
  const end = span.end_ns[span.end_ns.length - 1] ?? 0;
  // Regions of several strata may come and go together, of which some were drawn from: each is met by a draw that fell on it.
  const drawn = new Map(
    [...Map.groupBy(draws, (draw) => lifeOf(draw.region_birth_ns, draw.region_death_ns, end))].map(
      ([life, some]) => [life, Float64Array.from(some, ({ addr }) => Number(addr)).sort()] as const,
    ),
  );
  const isMet = (row: number, life: string): boolean => {
    const places = drawn.get(life);
    if (places === undefined) return false;
    const first = firstIndex(places.length, (i) => (places[i] ?? 0) < (all.begin[row] as number));
    return (places[first] ?? Number.POSITIVE_INFINITY) < (all.end[row] as number);
  };
  const most = MOST_SPARED * new Set(draws.map(({ stratum }) => stratum)).size;
  const begins = Float64Array.from(draws, ({ begin_ns }) => begin_ns).sort();
  const begun = (time: number): number => firstIndex(begins.length, (i) => (begins[i] ?? 0) < time);
  let unmet = 0;
  for (const row of rows) {
    const [birth, death] = [all.birth_ns[row] as number, all.death_ns[row] as number];
    if (begun(death) - begun(birth) >= most || isMet(row, lifeOf(birth, death, end))) continue;
    unmet += ((all.end[row] as number) - (all.begin[row] as number)) * coveredNs(span, birth, death);
  }
  const share = unmet / span.window_ns / mean_bytes;
  return Math.max(0, Math.min(lacking, share) - CI_Z * error());
}

/**
 * Bytes per second of pages that the kernel gave to memory of which only what is there is drawn, when they were touched first or anew after the
 * program gave them up; tensors are drawn wherever they are.
 * @param pagesOf how many of the faults count
 */
export function touchedPerSecond(
  { region_type, span, faults }: Pick<Group, "region_type" | "span" | "faults">,
  pagesOf: (faults: FaultCounts) => number,
): number {
  const isByPage = region_type === "unknown" || region_type === "runtime";
  return isByPage && faults !== null && span.window_ns > 0 ? (1e9 * PAGE_BYTES * pagesOf(faults)) / span.window_ns : 0;
}

/**
 * Share of the bytes and time of which windows hold too little as memory comes while they look: a window begins when the memory is
 * there, so that the moments after its birth are in fewer windows than the later ones. Watches are drawn at all ages alike: the age of their
 * bytes tells how much of the time that is.
 * @param length_ns of the window of each exposure
 */
export function underlookedShare(
  { exposures, weights, touched_per_s }: WatchSet,
  length_ns: ArrayLike<number>,
): number {
  let missing = 0;
  let all = 0;
  let looked = 0;
  exposures.forEach(({ watch, armed_ns }, i) => {
    const length = length_ns[i] ?? 0;
    if (length <= 0) return;
    const bytes = weights.bytes[i] ?? 0;
    all += bytes;
    looked += bytes * length;
    // What was there before the run is of any age.
    const age = watch.region_birth_ns > 0 ? armed_ns - watch.region_birth_ns : length;
    missing += bytes * Math.min(1, Math.max(0, 1 - age / length));
  });
  if (!(all > 0)) return 0;
  const pages = (touched_per_s / weights.total_bytes) * (looked / all / 2e9);
  return Math.min(1, missing / all + pages);
}

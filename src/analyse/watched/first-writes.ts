/** The first writes of memory that comes into being while it is watched: to be drawn it must be in memory, so none of them is seen. */
import { CENSORED } from "../../label/regions/places.ts";
import type { Group } from "../input/group.ts";
import type { RegionSet } from "../input/region-set.ts";
import type { Span } from "../input/span.ts";
import { passRate } from "./rate/pass-rate.ts";
import { touchedPerSecond } from "./young-memory.ts";

/** Above this share of the writes a figure over writes is not one of all of them. */
export const MOST_FIRST_WRITES = 0.05;

export const firstWritesReason = (share: number): string =>
  `up to ${Math.round(100 * share)} % of the writes are the first ones of memory that came into being, which no watch can see`;

/**
 * Bytes of the regions of a class that came inside a span, per second of it.
 * @param before bits of CENSORED of what had been there before, for who asks
 */
function mappedPerSecond({ all, rows }: RegionSet, span: Span, before: number): number {
  const from = span.begin_ns[0] ?? 0;
  const end = span.end_ns[span.end_ns.length - 1] ?? 0;
  let born = 0;
  for (const row of rows) {
    const birth = all.birth_ns[row] as number;
    const isSeen = ((all.censored[row] as number) & before) === 0;
    if (isSeen && birth > from && birth <= end) born += (all.end[row] as number) - (all.begin[row] as number);
  }
  return span.window_ns > 0 ? (1e9 * born) / span.window_ns : 0;
}

type Came = Pick<Group, "region_type" | "regions" | "span" | "faults">;

/** Bytes of a class that came to their addresses inside a span, per second of it: with their region, by a move, or as pages of one that were touched first, or anew after the program gave them up. */
export function bornPerSecond(group: Came): number {
  return Math.max(
    mappedPerSecond(group.regions, group.span, CENSORED.birth),
    touchedPerSecond(group, (faults) => faults.first_touches),
  );
}

const touchedAndWritten = (group: Came): number =>
  touchedPerSecond(group, (faults) => Math.min(faults.first_touches, faults.write_faults));

/** Bytes of pages that were written as they were touched first, in all of a span. */
export const writtenAsTouched = (group: Came): number => (touchedAndWritten(group) * group.span.window_ns) / 1e9;

/** The same of bytes that were written as they came: what moved had been written before. */
export function bornWrittenPerSecond(group: Came): number {
  const mapped = mappedPerSecond(group.regions, group.span, CENSORED.birth | CENSORED.came);
  return Math.max(mapped, touchedAndWritten(group));
}

/** First writes over all writes of a class, each byte that came taken as written once before it could be drawn: at most so many. */
export function firstWriteShare(group: Came & Pick<Group, "stores">): number {
  const bytes = group.stores.weights.total_bytes;
  const unseen = bytes > 0 ? bornWrittenPerSecond(group) / bytes : 0;
  const { rate, least } = passRate(group.stores, "write");
  const seen = Math.max(rate.lo ?? 0, least);
  return unseen > 0 ? unseen / (unseen + seen) : 0;
}

/** The same over the writes that watches can see: what of all has to be allowed for as being of any kind. */
export function unseenWrites(group: Parameters<typeof firstWriteShare>[0]): number {
  const first = firstWriteShare(group);
  return first / (1 - first);
}

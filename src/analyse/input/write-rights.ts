/** How much of a class lies where the process could write, and how much where no write can have been. */
import type { Exposure } from "../watched/exposure.ts";
import type { Group } from "./group.ts";

export interface WriteRights {
  /** Regions that were there in the span, and their bytes. */
  readonly regions: number;
  readonly bytes: number;
  /** Of these, in files that were mapped before our eyes without the right to write, from then on. */
  readonly sealed_bytes: number;
  /** The same from our first look on: whatever was before, no write of the span went there. */
  readonly unwritable_bytes: number;
}

/** Counts the regions of a group that were there in its span by what their protection let be. */
export function writeRights({ regions: { all, rows }, span }: Pick<Group, "regions" | "span">): WriteRights {
  const from = span.begin_ns[0] ?? 0;
  const until = span.end_ns[span.end_ns.length - 1] ?? 0;
  const sums = { regions: 0, bytes: 0, sealed_bytes: 0, unwritable_bytes: 0 };
  for (const row of rows) {
    if ((all.birth_ns[row] as number) >= until || (all.death_ns[row] as number) <= from) continue;
    const facts = all.facts[all.what[row] as number];
    const bytes = (all.end[row] as number) - (all.begin[row] as number);
    sums.regions += 1;
    sums.bytes += bytes;
    if (facts?.is_read_only === true) sums.sealed_bytes += bytes;
    if (facts?.is_unwritable === true) sums.unwritable_bytes += bytes;
  }
  return sums;
}

/** True where a watch saw a write: then the map is wrong, whatever it says. */
export const showsWrite = ({ passes }: Exposure): boolean => passes.writes.some((n) => n > 0);

/** True where a change of protection would have been seen: a recording of samples has mappings as they were made, and no more. */
export const seesProtection = ({ input: { sight } }: Pick<Group, "input">): boolean =>
  sight.length === 0 || sight.some(({ identifies }) => identifies.includes("region_map"));

/** True where all bytes of a class lie in files that the process had mapped without the right to write. */
export function isUnwritable(group: Pick<Group, "input" | "regions" | "span" | "every" | "allocations">): boolean {
  if (group.allocations !== null || !seesProtection(group)) return false;
  const { bytes, unwritable_bytes } = writeRights(group);
  return bytes > 0 && bytes === unwritable_bytes && !group.every.exposures.some(showsWrite);
}

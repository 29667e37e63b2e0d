/** How many blocks of a grain a class can have, each counted anew in each life of its bytes. */
import { CENSORED } from "../../label/regions/places.ts";
import type { RegionSet } from "../input/region-set.ts";
import { isMet, type Span } from "../input/span.ts";

/** Blocks that the regions touch, each once. */
function touched({ all, rows }: RegionSet, grain: number): number {
  let count = 0;
  let pid = -1;
  let upTo = -1;
  for (const row of rows) {
    if (all.pid[row] !== pid) upTo = -1;
    pid = all.pid[row] as number;
    const first = Math.floor((all.begin[row] as number) / grain);
    const last = Math.ceil((all.end[row] as number) / grain) - 1;
    if (last <= upTo) continue;
    count += last - Math.max(first - 1, upTo);
    upTo = last;
  }
  return count;
}

/**
 * Bytes of the blocks that can be touched in a span: of every region that is there at some moment of it, each block once. Memory that
 * comes and goes at other addresses has more of them than it ever has at a time.
 */
export function touchableBytes({ all, rows }: RegionSet, span: Span, grain: number): number {
  const there = rows.filter((row) => isMet(span, all.birth_ns[row] as number, all.death_ns[row] as number));
  return touched({ all, rows: there }, grain) * grain;
}

/**
 * An upper bound: every block that a region touches, once more for each region that held it whole and died, all of it
 * once more for each time that the cache was emptied.
 */
export function mostBlocks(regions: RegionSet, grain: number, clears: number): number {
  const { all, rows } = regions;
  let died = 0;
  for (const row of rows) {
    if (((all.censored[row] as number) & CENSORED.death) !== 0) continue;
    const whole = Math.floor((all.end[row] as number) / grain) - Math.ceil((all.begin[row] as number) / grain);
    died += Math.max(0, whole);
  }
  return (touched(regions, grain) + died) * (clears + 1);
}

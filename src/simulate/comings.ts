/** Memory of a world that comes and goes: many polls ask what is there, and few find that anything changed. */
import type { DrawRegion } from "../collect/ebpf/watch/draw.ts";
import { firstIndex } from "../statistics/first-index.ts";
import { lifeOf } from "./samples.ts";
import type { World } from "./world.ts";

export interface Comings {
  /** Of each stratum: when its memory is born and freed, ns. */
  readonly born_ns: Float64Array;
  readonly freed_ns: Float64Array;
  /** How often anything was born or freed until then: as long as it is the same, so is what is there. */
  changesUntil(moment_ns: number): number;
  /** Numbers of the strata that are freed after one moment and up to another, ascending. */
  freedWithin(after_ns: number, until_ns: number): number[];
}

export function comingsAndGoings({ strata }: World): Comings {
  const lives = strata.map(lifeOf);
  const born_ns = Float64Array.from(lives, ([born]) => born);
  const freed_ns = Float64Array.from(lives, ([, freed]) => freed);
  const changes = Float64Array.from([...born_ns, ...freed_ns]).sort();
  const byEnd = Uint32Array.from(freed_ns.keys()).sort((a, b) => (freed_ns[a] ?? 0) - (freed_ns[b] ?? 0));
  const endedBy = (moment: number): number => firstIndex(byEnd.length, (k) => (freed_ns[byEnd[k] ?? 0] ?? 0) <= moment);
  return {
    born_ns,
    freed_ns,
    changesUntil: (moment) => firstIndex(changes.length, (i) => (changes[i] ?? 0) <= moment),
    freedWithin: (after, until) => [...byEnd.subarray(endedBy(after), endedBy(until)).sort()],
  };
}

/** The regions that are there at the moment that a clock tells: one list as long as nothing comes or goes, as the draws are told. */
export function regionsOver(
  regions: readonly DrawRegion[],
  { born_ns, freed_ns, changesUntil }: Comings,
  nowNs: () => number,
): () => readonly DrawRegion[] {
  let there: readonly DrawRegion[] = [];
  let changes = -1;
  return () => {
    const now = nowNs();
    const until = changesUntil(now);
    if (until === changes) return there;
    changes = until;
    const list = regions.filter((_, i) => (born_ns[i] ?? 0) <= now && now < (freed_ns[i] ?? 0));
    if (list.length !== there.length || list.some((region, i) => region !== there[i])) there = list;
    return there;
  };
}

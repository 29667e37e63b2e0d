/** Stays of mappings that ended, to be listed as lifetimes and found again by address and time. */
import { firstIndex } from "../statistics/first-index.ts";
import { type Ended, mappingRow } from "./address-space.ts";
import type { MappingRow } from "./mapping-row.ts";

/** 2 MiB of 4 KiB pages: most stays lie in few buckets, and stays over more than WIDE of them in a list of their own. */
const BUCKET_PAGES = 512;
const WIDE = 64;

export interface MappingHistory {
  readonly size: number;
  add(ended: Ended): void;
  /** Stays of an address space that held `page` at `time_ns`. */
  find(pid: number, page: number, time_ns: bigint): Ended | undefined;
  rows(pageShift: bigint): MappingRow[];
}

/** Index of the first stay that ended after `time_ns`. */
function firstAfter(list: readonly Ended[], time_ns: bigint): number {
  return firstIndex(list.length, (i) => (list[i] as Ended).death_ns <= time_ns);
}

function insertByDeath(list: Ended[], ended: Ended): void {
  const last = list.at(-1);
  if (last === undefined || last.death_ns <= ended.death_ns) list.push(ended);
  else list.splice(firstAfter(list, ended.death_ns), 0, ended);
}

function findIn(list: readonly Ended[] | undefined, page: number, time_ns: bigint): Ended | undefined {
  if (list === undefined) return undefined;
  for (let i = firstAfter(list, time_ns); i < list.length; i++) {
    const ended = list[i] as Ended;
    if (ended.from <= page && page < ended.to && ended.state.since_ns <= time_ns && ended.state.birth_ns <= time_ns) {
      return ended;
    }
  }
  return undefined;
}

export function createMappingHistory(): MappingHistory {
  const all: Ended[] = [];
  const byPid = new Map<number, { wide: Ended[]; buckets: Map<number, Ended[]> }>();

  return {
    get size() {
      return all.length;
    },
    add(ended) {
      all.push(ended);
      const { pid } = ended.space;
      const index = byPid.get(pid) ?? { wide: [], buckets: new Map<number, Ended[]>() };
      byPid.set(pid, index);
      const first = Math.floor(ended.from / BUCKET_PAGES);
      const last = Math.floor((ended.to - 1) / BUCKET_PAGES);
      if (last - first >= WIDE) {
        insertByDeath(index.wide, ended);
        return;
      }
      for (let bucket = first; bucket <= last; bucket++) {
        const list = index.buckets.get(bucket);
        if (list === undefined) index.buckets.set(bucket, [ended]);
        else insertByDeath(list, ended);
      }
    },
    find(pid, page, time_ns) {
      const index = byPid.get(pid);
      if (index === undefined) return undefined;
      const bucket = index.buckets.get(Math.floor(page / BUCKET_PAGES));
      return findIn(bucket, page, time_ns) ?? findIn(index.wide, page, time_ns);
    },
    rows: (pageShift) =>
      all.map((e) => mappingRow(e.space.pid, e.state, e.from, e.to, pageShift, e.death_ns, e.ended_by)),
  };
}

/** Which rows of the KV cache lie in which region: those of each cache tensor, by the engine's steps. */
import type { KvRows, KvTensor } from "../../label/kv/kv-lifecycle.ts";
import type { PlaceIndex } from "../../label/regions/place-index.ts";
import { type Regions, regionAt } from "../../label/regions/region-map.ts";
import type { RegionKv } from "./input.ts";
import { kvRowSamples } from "./kv-samples.ts";

/** Sets of tensors with lives of their own, those with most tensors first: bounds the time. */
const MOST_SETS = 16;
/** Tokens in caches above which the class alone is told: as many rows again for each set would double what they take. */
const MOST_TOKENS = 1 << 17;

/** The region of a tensor, which must be its own; -1 where several share the bytes, or the map has none. */
function regionOf({ pid, addr, birth_ns, name }: KvTensor, regions: Regions, index: PlaceIndex): number {
  const row = index.find(pid, Number(addr), Math.max(0, birth_ns));
  return name !== null && regionAt(regions, row)?.tensor === name ? row : -1;
}

/** Cache tensors by the rows that they keep: those of one set have the same figures. */
export function regionKv(rows: KvRows, regions: Regions, index: PlaceIndex): RegionKv[] {
  const { tensors, rooms, tokens, untold } = rows;
  if (untold !== null || tokens.length === 0) return [];
  const keyOf = (k: number): string => {
    const { row_bytes, death_ns } = tensors[k] as KvTensor;
    return [row_bytes, death_ns, ...rooms.flatMap((room, r) => (room.includes(k) ? [r] : []))].join("/");
  };
  const sets = [...Map.groupBy(tensors.keys(), keyOf).values()].map((members) => {
    const [first = 0] = members;
    const roomsOfOne = rooms.map((room) => (room.includes(first) ? [first] : []));
    return {
      rows: members.map((k) => regionOf(tensors[k] as KvTensor, regions, index)).filter((row) => row >= 0),
      kvRows: tokens.length > MOST_TOKENS ? null : () => kvRowSamples({ ...rows, rooms: roomsOfOne, copies: [] }),
    };
  });
  return sets
    .filter((set) => set.rows.length > 0)
    .sort((a, b) => b.rows.length - a.rows.length)
    .slice(0, MOST_SETS);
}

/** Where and when words were watched, whether they were used or not, for the map of addresses. */
import { existsSync } from "node:fs";
import { bigintAt, numberAt, textAt } from "../../../columnar/cell.ts";
import { firstIndex } from "../../../statistics/first-index.ts";
import type { HeatMap } from "./page-data.ts";
import type { MapOfAddresses, Region } from "./read-regions.ts";
import { batchesOf } from "./run-table.ts";

/** 16 bytes each before base64. */
const MOST_LOOKS = 10_000;

/** Columns of the map for each ns, and the time of its first. */
export interface TimeScale {
  readonly origin_ns: bigint;
  readonly columns_per_ns: number;
}

interface Placed {
  readonly addr: number;
  readonly end_addr: number;
  /** The last byte of all regions up to this one. */
  readonly furthest: number;
  readonly first_row: number;
  readonly rows_per_byte: number;
}

/** The regions of each type that are on the map, by address. */
function placedRegions(regions: readonly Region[], map: MapOfAddresses): ReadonlyMap<string, readonly Placed[]> {
  const out = new Map<string, Placed[]>();
  const order = regions.map((_, i) => i).sort((a, b) => Number((regions[a]?.addr ?? 0n) - (regions[b]?.addr ?? 0n)));
  for (const i of order) {
    const [region, place] = [regions[i], map.places[i]];
    const band = place == null ? undefined : map.bands[place.band];
    if (region === undefined || place == null || band === undefined) continue;
    const placed = out.get(region.region_type) ?? [];
    out.set(region.region_type, placed);
    const addr = Number(region.addr);
    const end_addr = addr + region.size_bytes;
    const rows_per_byte = band.rows / band.bytes;
    const furthest = Math.max(end_addr, placed.at(-1)?.furthest ?? 0);
    placed.push({ addr, end_addr, furthest, first_row: band.row + place.from_byte * rows_per_byte, rows_per_byte });
  }
  return out;
}

/** A region that holds an address: where several do, they lie at the same place of the map. */
function holderOf(placed: readonly Placed[], addr: number): Placed | null {
  const behind = firstIndex(placed.length, (i) => (placed[i]?.addr ?? 0) <= addr);
  for (let i = behind - 1; i >= 0; i--) {
    const one = placed[i];
    if (one === undefined || one.furthest <= addr) return null;
    if (addr < one.end_addr) return one;
  }
  return null;
}

const base64 = (values: readonly number[]): string => Buffer.from(Float32Array.from(values).buffer).toString("base64");

/** The looks of heat.parquet at regions of the map; those that were longest where there are many. @throws as `batchesOf` */
export function readLooks(
  path: string,
  regions: readonly Region[],
  map: MapOfAddresses,
  { origin_ns, columns_per_ns }: TimeScale,
): HeatMap["looks"] {
  if (!existsSync(path)) return { looks: 0, column: "", row: "", width: "", height: "" };
  const placed = placedRegions(regions, map);
  const looks: { watched: number; column: number; row: number; width: number; height: number }[] = [];
  for (const { rows, columns } of batchesOf(path, "heat")) {
    for (let row = 0; row < rows; row++) {
      const watched = numberAt(columns.watched_ns, row) ?? 0;
      if (watched === 0) continue;
      const addr = numberAt(columns.addr, row) ?? 0;
      const holder = holderOf(placed.get(textAt(columns.region_type, row) ?? "") ?? [], addr);
      if (holder === null) continue;
      looks.push({
        watched,
        column: Number((bigintAt(columns.timestamp_ns, row) ?? 0n) - origin_ns) * columns_per_ns,
        row: holder.first_row + (addr - holder.addr) * holder.rows_per_byte,
        width: (numberAt(columns.duration_ns, row) ?? 0) * columns_per_ns,
        height: (numberAt(columns.size_bytes, row) ?? 0) * holder.rows_per_byte,
      });
    }
  }
  const longest = looks.sort((a, b) => b.watched - a.watched).slice(0, MOST_LOOKS);
  return {
    looks: longest.length,
    column: base64(longest.map(({ column }) => column)),
    row: base64(longest.map(({ row }) => row)),
    width: base64(longest.map(({ width }) => width)),
    height: base64(longest.map(({ height }) => height)),
  };
}

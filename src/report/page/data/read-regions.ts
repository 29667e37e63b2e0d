/** The regions of a run for the page, and where each lies on its map of addresses. */
import { existsSync } from "node:fs";
import { bigintAt, numberAt, textAt } from "../../../columnar/cell.ts";
import { rowReader } from "../../../columnar/rows.ts";
import type { RowOf } from "../../../schema/row.ts";
import type { Band, Maybe, RegionColumns } from "./page-data.ts";
import { batchesOf } from "./run-table.ts";

/** More are neither seen on a map nor read in a table. */
export const MOST_REGIONS = 10_000;
/** Letters of a name, as many as a path has: a table may name all its regions by one text of any length. */
const MOST_LETTERS = 4096;

/** A region as the map of regions has it. Times in ns of CLOCK_MONOTONIC. */
export interface Region {
  readonly region_id: number;
  readonly region_type: string;
  readonly mapping_kind: string | null;
  readonly name: string;
  readonly layer: number | null;
  readonly pid: number;
  readonly addr: bigint;
  readonly size_bytes: number;
  /** At the look that found most of all regions; null where that did not see it, and where nobody looked. */
  readonly resident_bytes: number | null;
  readonly birth_ns: bigint;
  readonly death_ns: bigint;
  readonly access_rows: number;
  readonly evidence: string;
}

export interface ReadRegions {
  readonly regions: readonly Region[];
  readonly left_out: number;
}

/** What memray saw lies inside of the mappings of others. */
const isMapped = (kind: string | null): boolean => kind?.startsWith("allocation/") !== true;

/** What says of a region how worth seeing it is. */
interface Worth {
  readonly access_rows: number;
  readonly isTensor: boolean;
  readonly size_bytes: number;
  readonly region_id: number;
}

/** Those on which most accesses fell first; of equal ones tensors, then the largest. */
const byWorth = (a: Worth, b: Worth): number =>
  b.access_rows - a.access_rows ||
  Number(b.isTensor) - Number(a.isTensor) ||
  b.size_bytes - a.size_bytes ||
  a.region_id - b.region_id;

const byAddress = (a: Region, b: Region): number =>
  a.pid - b.pid || (a.addr < b.addr ? -1 : a.addr > b.addr ? 1 : 0) || a.region_id - b.region_id;

function regionOf(row: RowOf<"region_map">, { region_id, access_rows, size_bytes }: Worth): Region {
  return {
    region_id,
    region_type: row.region_type ?? "unknown",
    mapping_kind: row.mapping_kind,
    name: row.name ?? row.mapping_kind ?? "",
    layer: row.layer,
    pid: row.pid,
    addr: row.addr,
    size_bytes,
    resident_bytes: row.resident_fullest_bytes === null ? null : Number(row.resident_fullest_bytes),
    birth_ns: row.birth_ns,
    death_ns: row.death_ns,
    access_rows,
    evidence: row.evidence,
  };
}

/**
 * The regions of region_map.parquet that are most worth seeing, by address. There may be millions: no more are held than twice as many as are kept.
 * @throws as `batchesOf`
 */
export function readRegions(path: string): Maybe<ReadRegions> {
  if (!existsSync(path)) return { why: "the run has no region_map.parquet" };
  let best: { readonly worth: Worth; readonly region: Region }[] = [];
  let least: Worth | null = null;
  let all = 0;
  const cut = (): void => {
    best = best.sort((a, b) => byWorth(a.worth, b.worth)).slice(0, MOST_REGIONS);
    if (best.length === MOST_REGIONS) least = best.at(-1)?.worth ?? null;
  };
  for (const batch of batchesOf(path, "region_map")) {
    const rowAt = rowReader(batch);
    const { mapping_kind, access_count, tensor, size_bytes, region_id } = batch.columns;
    for (let row = 0; row < batch.rows; row++) {
      if (!isMapped(textAt(mapping_kind, row))) continue;
      all += 1;
      const worth = {
        access_rows: numberAt(access_count, row) ?? 0,
        isTensor: textAt(tensor, row) !== null,
        size_bytes: numberAt(size_bytes, row) ?? 0,
        region_id: numberAt(region_id, row) ?? 0,
      };
      if (least !== null && byWorth(least, worth) < 0) continue;
      best.push({ worth, region: regionOf(rowAt(row), worth) });
      if (best.length >= 2 * MOST_REGIONS) cut();
    }
  }
  if (all === 0) return { why: "the run has no region: nothing told what lay in memory" };
  cut();
  const regions = best.map(({ region }) => region).sort(byAddress);
  return { data: { regions, left_out: all - regions.length } };
}

/** From the first birth of a region to the last death; null where there is none. @throws as `batchesOf` */
export function livesOf(path: string): { readonly first_ns: bigint; readonly last_ns: bigint } | null {
  if (!existsSync(path)) return null;
  let [first, last]: [bigint | null, bigint] = [null, 0n];
  for (const { rows, columns } of batchesOf(path, "region_map")) {
    for (let row = 0; row < rows; row++) {
      const [birth, death] = [bigintAt(columns.birth_ns, row) ?? 0n, bigintAt(columns.death_ns, row) ?? 0n];
      if (first === null || birth < first) first = birth;
      if (death > last) last = death;
    }
  }
  return first === null ? null : { first_ns: first, last_ns: last };
}

/** Class of a region as the tables of the run name it: its kind of mapping where nothing tells more. */
export const classOfRegion = ({ region_type, mapping_kind }: Region): string =>
  region_type === "unknown" ? (mapping_kind ?? "unknown") : region_type;

/** Where a region lies on the map: the byte of its band at which it begins. */
export interface Place {
  readonly band: number;
  readonly from_byte: number;
}

export interface MapOfAddresses {
  readonly bands: readonly Band[];
  readonly rows: number;
  /** By the index of the region; null where it is not on the map. */
  readonly places: readonly (Place | null)[];
}

/** A class that no access fell on and that nothing labels would only take the room of others. */
function isOnMap(region: Region, accessed: ReadonlySet<string>): boolean {
  return region.region_type !== "unknown" || accessed.has(classOfRegion(region));
}

/**
 * Lays the regions of each class one below the other in the order of their addresses, gaps left out: bytes that several
 * regions had one after another, or at the same time, are there once. Each class has as many rows, whatever its bytes.
 * @param regions by process and address
 */
export function layOut(regions: readonly Region[], classes: readonly string[], rows_of_band: number): MapOfAddresses {
  const accessed = new Set(regions.filter(({ access_rows }) => access_rows > 0).map(classOfRegion));
  const places: (Place | null)[] = regions.map(() => null);
  const bands: Band[] = [];
  for (const [index, name] of classes.entries()) {
    let bytes = 0;
    let pid = -1;
    // The extent that goes on: bytes of addresses without a gap.
    let [begin, end, base] = [0n, 0n, 0];
    for (const [i, region] of regions.entries()) {
      if (classOfRegion(region) !== name || !isOnMap(region, accessed)) continue;
      const last = region.addr + BigInt(region.size_bytes);
      if (region.pid !== pid || region.addr > end) {
        base = bytes;
        [pid, begin, end] = [region.pid, region.addr, region.addr];
      }
      places[i] = { band: bands.length, from_byte: base + Number(region.addr - begin) };
      if (last > end) {
        bytes += Number(last - end);
        end = last;
      }
    }
    if (bytes > 0) bands.push({ class: index, row: bands.length * rows_of_band, rows: rows_of_band, bytes });
  }
  return { bands, rows: bands.length * rows_of_band, places };
}

/** The regions as columns, with their rows on the map. @param origin_ns when the run began */
export function regionColumns(
  regions: readonly Region[],
  classes: readonly string[],
  map: MapOfAddresses,
  origin_ns: bigint,
): RegionColumns {
  const ms = (time: bigint): number => Math.round(Number(time - origin_ns) / 1e3) / 1e3;
  const rowsOf = regions.map((region, i) => {
    const place = map.places[i];
    const band = place === null || place === undefined ? undefined : map.bands[place.band];
    if (band === undefined || place === null || place === undefined) return [null, null] as const;
    const scale = band.rows / band.bytes;
    const first = band.row + place.from_byte * scale;
    return [Number(first.toFixed(3)), Number((region.size_bytes * scale).toPrecision(4))] as const;
  });
  return {
    class: regions.map((region) => classes.indexOf(classOfRegion(region))),
    name: regions.map(({ name }) => name.slice(0, MOST_LETTERS)),
    layer: regions.map(({ layer }) => layer),
    addr: regions.map(({ addr }) => addr.toString(16)),
    size_bytes: regions.map(({ size_bytes }) => size_bytes),
    resident_bytes: regions.map(({ resident_bytes }) => resident_bytes),
    birth_ms: regions.map(({ birth_ns }) => ms(birth_ns)),
    death_ms: regions.map(({ death_ns }) => ms(death_ns)),
    access_rows: regions.map(({ access_rows }) => access_rows),
    pid: regions.map(({ pid }) => pid),
    evidence: regions.map(({ evidence }) => evidence.slice(0, MOST_LETTERS)),
    map_row: rowsOf.map(([row]) => row),
    map_rows: rowsOf.map(([, rows]) => rows),
  };
}

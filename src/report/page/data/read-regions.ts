/** The regions of a run for the page, and where each lies on its map of addresses. */
import { existsSync } from "node:fs";
import { type Database, parquetScan } from "../../../sql/database.ts";
import type { Band, Maybe, RegionColumns } from "./page-data.ts";

/** More are neither seen on a map nor read in a table. */
export const MOST_REGIONS = 10_000;

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
const MAPPED = "(mapping_kind IS NULL OR mapping_kind NOT LIKE 'allocation/%')";

const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
const big = (value: unknown): bigint => (typeof value === "bigint" ? value : 0n);

/** The regions of region_map.parquet on which most accesses fell, of equal ones the largest; by address. @throws what the SQL engine throws */
export async function readRegions(database: Database, path: string): Promise<Maybe<ReadRegions>> {
  if (!existsSync(path)) return { why: "the run has no region_map.parquet" };
  const scan = parquetScan([path]);
  const columns = await database.rows(`DESCRIBE SELECT * FROM ${scan}`);
  // A run that was derived before there were looks is drawn too.
  const hasLooks = columns.some(({ column_name }) => column_name === "resident_fullest_bytes");
  const rows = await database.rows(
    `SELECT region_id, region_type, mapping_kind, coalesce(tensor, name, mapping_kind, '') AS name, layer, pid, addr,
       size_bytes, ${hasLooks ? "resident_fullest_bytes" : "NULL"} AS resident_bytes, birth_ns, death_ns, access_count, evidence
     FROM ${scan} WHERE ${MAPPED}
     ORDER BY coalesce(access_count, 0) DESC, tensor IS NULL, size_bytes DESC, region_id LIMIT ${MOST_REGIONS}`,
  );
  const [total] = await database.rows(`SELECT count(*) AS regions FROM ${scan} WHERE ${MAPPED}`);
  if (rows.length === 0) return { why: "the run has no region: nothing told what lay in memory" };
  const regions = rows.map(
    (row): Region => ({
      region_id: Number(row.region_id),
      region_type: text(row.region_type) ?? "unknown",
      mapping_kind: text(row.mapping_kind),
      name: text(row.name) ?? "",
      layer: row.layer === null ? null : Number(row.layer),
      pid: Number(row.pid),
      addr: big(row.addr),
      size_bytes: Number(row.size_bytes),
      resident_bytes: typeof row.resident_bytes === "bigint" ? Number(row.resident_bytes) : null,
      birth_ns: big(row.birth_ns),
      death_ns: big(row.death_ns),
      access_rows: Number(row.access_count ?? 0),
      evidence: text(row.evidence) ?? "",
    }),
  );
  regions.sort(
    (a, b) => a.pid - b.pid || (a.addr < b.addr ? -1 : a.addr > b.addr ? 1 : 0) || a.region_id - b.region_id,
  );
  return { data: { regions, left_out: Number(total?.regions ?? 0) - rows.length } };
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
    name: regions.map(({ name }) => name),
    layer: regions.map(({ layer }) => layer),
    addr: regions.map(({ addr }) => addr.toString(16)),
    size_bytes: regions.map(({ size_bytes }) => size_bytes),
    resident_bytes: regions.map(({ resident_bytes }) => resident_bytes),
    birth_ms: regions.map(({ birth_ns }) => ms(birth_ns)),
    death_ms: regions.map(({ death_ns }) => ms(death_ns)),
    access_rows: regions.map(({ access_rows }) => access_rows),
    pid: regions.map(({ pid }) => pid),
    evidence: regions.map(({ evidence }) => evidence),
    map_row: rowsOf.map(([row]) => row),
    map_rows: rowsOf.map(([, rows]) => rows),
  };
}

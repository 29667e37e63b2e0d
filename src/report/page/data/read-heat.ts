/** The accesses of a run by time and address, as many cells as a page can hold. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { NULL_CODE } from "../../../columnar/batch.ts";
import { collectAfter } from "../../../columnar/collect-after.ts";
import { openParquetSource } from "../../../columnar/read/parquet-file.ts";
import { assertRefusal } from "../../../columnar/read/refusal.ts";
import { loadedGroups, type ScannedGroup } from "../../../columnar/read/scan.ts";
import { tableFiles } from "../../../run-directory/table-files.ts";
import { type CellCounter, cellCounter, READ, WRITE } from "./heat-cells.ts";
import type { HeatMap, Maybe } from "./page-data.ts";
import { readLooks } from "./read-looks.ts";
import type { MapOfAddresses, Region } from "./read-regions.ts";

/** Columns of time; a multiple of a power of two, so that two of them can become one. */
const COLUMNS = 4096;
/** Rows of each class. */
export const ROWS_OF_BAND = 512;
const WORD = 2 ** 32;
/** What was decompressed of these takes some 20 MB. */
const ROWS_PER_COLLECTION = 1 << 20;
const NAMES = ["region_id", "timestamp_ns", "address", "op_type"] as const;
/** What each kind of access is, as cells count it. */
const BITS: Readonly<Record<string, number>> = { load: READ, store: WRITE, load_store: READ | WRITE };

const base64 = (array: Uint16Array | Float32Array): string =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");

/** Where the regions of the map lie on it, by their number. */
interface Places {
  readonly numberOf: ReadonlyMap<number, number>;
  /** First byte, as two words. */
  readonly low: Float64Array;
  readonly high: Float64Array;
  readonly first_row: Float64Array;
  readonly rows_per_byte: Float64Array;
  readonly last_row: Float64Array;
}

function placesOf(regions: readonly Region[], map: MapOfAddresses): Places {
  const room = (): Float64Array => new Float64Array(regions.length);
  const numberOf = new Map<number, number>();
  const out = { numberOf, low: room(), high: room(), first_row: room(), rows_per_byte: room(), last_row: room() };
  for (const [i, { region_id, addr }] of regions.entries()) {
    const place = map.places[i] ?? null;
    const band = place === null ? undefined : map.bands[place.band];
    if (place === null || band === undefined) continue;
    numberOf.set(region_id, i);
    out.low[i] = Number(addr & 0xffffffffn);
    out.high[i] = Number(addr >> 32n);
    out.rows_per_byte[i] = band.rows / band.bytes;
    out.first_row[i] = band.row + (place.from_byte * band.rows) / band.bytes;
    out.last_row[i] = band.row + band.rows - 1;
  }
  return out;
}

interface Span {
  readonly origin_ns: bigint;
  readonly duration_ns: number;
}

/** Room for the columns of a row group, used for one after the other. */
function groupRoom(rows: number) {
  return {
    rows,
    ids: new Uint32Array(rows),
    times: new Uint32Array(2 * rows),
    addresses: new Uint32Array(2 * rows),
    codes: new Uint32Array(rows),
    hasTime: new Uint8Array(rows),
    hasAddress: new Uint8Array(rows),
  };
}

/** Counts the rows of a group that lie on the map; returns how many. */
function countGroup(
  group: ScannedGroup,
  room: ReturnType<typeof groupRoom>,
  places: Places,
  { origin_ns, duration_ns }: Span,
  counter: CellCounter,
): number {
  const { ids, times, addresses, codes, hasTime, hasAddress } = room;
  group.numbers("region_id", ids, null);
  group.numbers("timestamp_ns", times, hasTime);
  group.numbers("address", addresses, hasAddress);
  const bits = group.texts("op_type", codes).map((name) => BITS[name] ?? 0);
  const [low, high] = [Number(origin_ns & 0xffffffffn), Number(origin_ns >> 32n)];
  const perNs = COLUMNS / Math.max(1, duration_ns);
  let placed = 0;
  for (let i = 0; i < group.rows; i++) {
    const place = places.numberOf.get(ids[i] as number);
    if (place === undefined || hasTime[i] === 0 || hasAddress[i] === 0) continue;
    const time = ((times[2 * i + 1] as number) - high) * WORD + (times[2 * i] as number) - low;
    const column = Math.min(COLUMNS - 1, Math.max(0, Math.floor(time * perNs)));
    const offset =
      ((addresses[2 * i + 1] as number) - (places.high[place] as number)) * WORD +
      (addresses[2 * i] as number) -
      (places.low[place] as number);
    const row = Math.floor(
      (places.first_row[place] as number) + Math.max(0, offset) * (places.rows_per_byte[place] as number),
    );
    const code = codes[i] as number;
    counter.add(Math.min(places.last_row[place] as number, row), column, code === NULL_CODE ? 0 : (bits[code] ?? 0));
    placed += 1;
  }
  return placed;
}

/** Rows of files by their footers. @throws Error where one is damaged */
function rowsIn(paths: readonly string[]): number {
  let rows = 0;
  for (const path of paths) {
    using source = openParquetSource(path);
    for (const group of source.footer.groups) rows += group.rows;
  }
  return rows;
}

/**
 * Counts the rows of the trace in cells of the map.
 * @param regions by the index of `map.places`
 * @param signal ends the work
 * @throws what the signal carries; MrmTraceError as `readLooks` does
 */
export async function readHeat(
  runDir: string,
  regions: readonly Region[],
  map: MapOfAddresses,
  span: Span,
  signal?: AbortSignal,
): Promise<Maybe<HeatMap>> {
  const files = tableFiles(runDir, "trace").filter((path) => existsSync(path));
  if (files.length === 0) return { why: "the run has no trace: no access was recorded" };
  if (map.rows === 0) return { why: "no region of the run is of a class of data, and none was accessed" };
  const places = placesOf(regions, map);
  let [traced, placed] = [0, 0];
  let counter: CellCounter;
  try {
    traced = rowsIn(files);
    counter = cellCounter(map.rows, COLUMNS, traced);
    let room = groupRoom(0);
    const collect = collectAfter(ROWS_PER_COLLECTION);
    for await (const group of loadedGroups(files, NAMES)) {
      signal?.throwIfAborted();
      if (group.rows > room.rows) room = groupRoom(group.rows);
      placed += countGroup(group, room, places, span, counter);
      collect(group.rows);
    }
  } catch (error) {
    signal?.throwIfAborted();
    assertRefusal(error);
    return { why: `the trace cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
  if (placed === 0) return { why: "no access was recorded on a region of the map" };
  const cells = counter.cells();
  const scale = { origin_ns: span.origin_ns, columns_per_ns: COLUMNS / span.duration_ns };
  return {
    data: {
      columns: COLUMNS,
      rows: map.rows,
      bands: map.bands,
      cell_size: cells.cell_size,
      cells: cells.column.length,
      column: base64(cells.column),
      row: base64(cells.row),
      reads: base64(cells.reads),
      writes: base64(cells.writes),
      looks: readLooks(join(runDir, "heat.parquet"), regions, map, scale),
      elsewhere: traced - placed,
    },
  };
}

/** The accesses of a run by time and address, as many cells as a page can hold. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Database, parquetScan } from "../../../sql/database.ts";
import type { HeatMap, Maybe } from "./page-data.ts";
import type { MapOfAddresses, Region } from "./read-regions.ts";

/** Columns of time; a multiple of a power of two, so that two of them can become one. */
const COLUMNS = 4096;
/** Rows of each class. */
export const ROWS_OF_BAND = 512;
/** 12 bytes each before base64. */
const MOST_CELLS = 40_000;

/** Cells as the SQL engine counted them. */
interface Cells {
  column: Uint16Array;
  row: Uint16Array;
  reads: Float32Array;
  writes: Float32Array;
}

/** The files of the trace, in order; the single file of older runs. */
function traceFiles(runDir: string): string[] {
  const folder = join(runDir, "trace");
  if (!existsSync(folder)) return [join(runDir, "trace.parquet")].filter((path) => existsSync(path));
  return readdirSync(folder)
    .filter((name) => /^part-\d+\.parquet$/.test(name))
    .sort()
    .map((name) => join(folder, name));
}

/** Cells of twice the size in both directions, with the sums of those that fall together. */
function coarser(cells: Cells): Cells {
  const sums = new Map<number, [number, number]>();
  for (let i = 0; i < cells.column.length; i++) {
    const key = ((cells.row[i] ?? 0) >> 1) * COLUMNS + ((cells.column[i] ?? 0) >> 1);
    const sum = sums.get(key) ?? [0, 0];
    sum[0] += cells.reads[i] ?? 0;
    sum[1] += cells.writes[i] ?? 0;
    sums.set(key, sum);
  }
  const keys = [...sums.keys()];
  return {
    column: Uint16Array.from(keys, (key) => key % COLUMNS),
    row: Uint16Array.from(keys, (key) => Math.floor(key / COLUMNS)),
    reads: Float32Array.from(sums.values(), ([reads]) => reads),
    writes: Float32Array.from(sums.values(), ([, writes]) => writes),
  };
}

const base64 = (array: Uint16Array | Float32Array): string =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");

/**
 * Counts the rows of the trace in cells of the map.
 * @param regions by the index of `map.places`
 * @throws what the SQL engine throws
 */
export async function readHeat(
  database: Database,
  runDir: string,
  regions: readonly Region[],
  map: MapOfAddresses,
  span: { readonly origin_ns: bigint; readonly duration_ns: number },
): Promise<Maybe<HeatMap>> {
  const files = traceFiles(runDir);
  if (files.length === 0) return { why: "the run has no trace: no access was recorded" };
  if (map.rows === 0) return { why: "no region of the run is of a class of data, and none was accessed" };
  await database.run(
    "CREATE OR REPLACE TEMP TABLE place (region_id BIGINT, addr UBIGINT, first_row DOUBLE, row_bytes DOUBLE, last_row INTEGER)",
  );
  const appender = await database.connection.createAppender("place");
  for (const [i, region] of regions.entries()) {
    const place = map.places[i] ?? null;
    const band = place === null ? undefined : map.bands[place.band];
    if (place === null || band === undefined) continue;
    appender.appendBigInt(BigInt(region.region_id));
    appender.appendUBigInt(region.addr);
    appender.appendDouble(band.row + (place.from_byte * band.rows) / band.bytes);
    appender.appendDouble(band.rows / band.bytes);
    appender.appendInteger(band.row + band.rows - 1);
    appender.endRow();
  }
  appender.closeSync();
  const scan = parquetScan(files);
  const column = `least(${COLUMNS - 1}, greatest(0, floor((timestamp_ns::BIGINT - ${span.origin_ns}) * ${COLUMNS / Math.max(1, span.duration_ns)})))`;
  const row = "least(last_row, floor(first_row + greatest(0, address::DOUBLE - addr::DOUBLE) * row_bytes))";
  const rows = await database.rows(
    `SELECT ${column}::USMALLINT AS c, ${row}::USMALLINT AS r,
       (count(*) FILTER (op_type IN ('load', 'load_store')))::FLOAT AS reads,
       (count(*) FILTER (op_type IN ('store', 'load_store')))::FLOAT AS writes
     FROM ${scan} JOIN place USING (region_id) WHERE timestamp_ns IS NOT NULL GROUP BY ALL ORDER BY r, c`,
  );
  const [total] = await database.rows(
    `SELECT count(*) AS all_rows, count(place.region_id) AS placed FROM ${scan} AS trace LEFT JOIN place USING (region_id)`,
  );
  const elsewhere = Number(total?.all_rows ?? 0) - Number(total?.placed ?? 0);
  if (rows.length === 0) return { why: "no access was recorded on a region of the map" };
  let cells: Cells = {
    column: Uint16Array.from(rows, ({ c }) => Number(c)),
    row: Uint16Array.from(rows, ({ r }) => Number(r)),
    reads: Float32Array.from(rows, ({ reads }) => Number(reads)),
    writes: Float32Array.from(rows, ({ writes }) => Number(writes)),
  };
  let shift = 0;
  while (cells.column.length > MOST_CELLS) {
    cells = coarser(cells);
    shift += 1;
  }
  return {
    data: {
      columns: COLUMNS,
      rows: map.rows,
      bands: map.bands,
      cell_size: 1 << shift,
      cells: cells.column.length,
      column: base64(cells.column),
      row: base64(cells.row),
      reads: base64(cells.reads),
      writes: base64(cells.writes),
      elsewhere,
    },
  };
}

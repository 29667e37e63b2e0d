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
/** So many are summed at first: the SQL engine holds them all. */
const MOST_SUMS = 300_000;
/** 16 bytes each before base64. */
const MOST_LOOKS = 10_000;

/** The files of the trace, in order; the single file of older runs. */
function traceFiles(runDir: string): string[] {
  const folder = join(runDir, "trace");
  if (!existsSync(folder)) return [join(runDir, "trace.parquet")].filter((path) => existsSync(path));
  return readdirSync(folder)
    .filter((name) => /^part-\d+\.parquet$/.test(name))
    .sort()
    .map((name) => join(folder, name));
}

const base64 = (array: Uint16Array | Float32Array): string =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");

/**
 * Where and when the words of a block were watched, by heat.parquet, at the regions of the table `place`; those that were
 * watched longest where there are many. @throws what the SQL engine throws
 */
async function readLooks(
  database: Database,
  path: string,
  span: { readonly origin_ns: bigint; readonly duration_ns: number },
): Promise<HeatMap["looks"]> {
  if (!existsSync(path)) return { looks: 0, column: "", row: "", width: "", height: "" };
  const perNs = COLUMNS / span.duration_ns;
  const rows = await database.rows(
    `SELECT any_value((look.timestamp_ns::BIGINT - ${span.origin_ns}) * ${perNs}) AS c,
       any_value(place.first_row + (look.addr - place.addr)::DOUBLE * place.row_bytes) AS r,
       any_value(look.duration_ns * ${perNs}) AS width, any_value(look.size_bytes * place.row_bytes) AS height
     FROM (SELECT *, row_number() OVER () AS number FROM ${parquetScan([path])} WHERE watched_ns > 0) AS look
     JOIN place ON look.region_type = place.region_type AND look.addr >= place.addr AND look.addr < place.end_addr
     GROUP BY number ORDER BY any_value(look.watched_ns) DESC LIMIT ${MOST_LOOKS}`,
  );
  const column = (name: string): string => base64(Float32Array.from(rows, (row) => Number(row[name])));
  return {
    looks: rows.length,
    column: column("c"),
    row: column("r"),
    width: column("width"),
    height: column("height"),
  };
}

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
    `CREATE OR REPLACE TEMP TABLE place (region_id BIGINT, region_type VARCHAR, addr UBIGINT, end_addr UBIGINT,
       first_row DOUBLE, row_bytes DOUBLE, last_row INTEGER)`,
  );
  const appender = await database.connection.createAppender("place");
  for (const [i, region] of regions.entries()) {
    const place = map.places[i] ?? null;
    const band = place === null ? undefined : map.bands[place.band];
    if (place === null || band === undefined) continue;
    appender.appendBigInt(BigInt(region.region_id));
    appender.appendVarchar(region.region_type);
    appender.appendUBigInt(region.addr);
    appender.appendUBigInt(region.addr + BigInt(region.size_bytes));
    appender.appendDouble(band.row + (place.from_byte * band.rows) / band.bytes);
    appender.appendDouble(band.rows / band.bytes);
    appender.appendInteger(band.row + band.rows - 1);
    appender.endRow();
  }
  appender.closeSync();
  const scan = parquetScan(files);
  const [whole] = await database.rows(`SELECT count(*) AS traced FROM ${scan}`);
  const traced = Number(whole?.traced ?? 0);
  let shift = 0;
  while (Math.min(traced, (map.rows * COLUMNS) >> (2 * shift)) > MOST_SUMS) shift += 1;
  const column = `least(${COLUMNS - 1}, greatest(0, floor((timestamp_ns::BIGINT - ${span.origin_ns}) * ${COLUMNS / Math.max(1, span.duration_ns)})))`;
  const row = "least(last_row, floor(first_row + greatest(0, address::DOUBLE - addr::DOUBLE) * row_bytes))";
  await database.run(
    `CREATE OR REPLACE TEMP TABLE cell AS
     SELECT ${row}::INTEGER >> ${shift} AS r, ${column}::INTEGER >> ${shift} AS c, count(*) AS accesses,
       count(*) FILTER (op_type IN ('load', 'load_store')) AS reads,
       count(*) FILTER (op_type IN ('store', 'load_store')) AS writes
     FROM ${scan} JOIN place USING (region_id) WHERE timestamp_ns IS NOT NULL GROUP BY ALL`,
  );
  const [sums] = await database.rows("SELECT count(*) AS cells, coalesce(sum(accesses), 0) AS placed FROM cell");
  if (Number(sums?.cells ?? 0) === 0) return { why: "no access was recorded on a region of the map" };
  let coarser = 0;
  const grouped =
    (): string => `SELECT r >> ${coarser} AS r, c >> ${coarser} AS c, sum(reads) AS reads, sum(writes) AS writes
     FROM cell GROUP BY ALL`;
  for (;;) {
    const [size] = await database.rows(`SELECT count(*) AS cells FROM (${grouped()})`);
    if (Number(size?.cells ?? 0) <= MOST_CELLS) break;
    coarser += 1;
  }
  const cells = await database.rows(`${grouped()} ORDER BY r, c`);
  return {
    data: {
      columns: COLUMNS,
      rows: map.rows,
      bands: map.bands,
      cell_size: 1 << (shift + coarser),
      cells: cells.length,
      column: base64(Uint16Array.from(cells, ({ c }) => Number(c))),
      row: base64(Uint16Array.from(cells, ({ r }) => Number(r))),
      reads: base64(Float32Array.from(cells, ({ reads }) => Number(reads))),
      writes: base64(Float32Array.from(cells, ({ writes }) => Number(writes))),
      looks: await readLooks(database, join(runDir, "heat.parquet"), span),
      elsewhere: traced - Number(sums?.placed ?? 0),
    },
  };
}

/** region_map.parquet: the regions, and what the trace saw of each. */
import { join } from "node:path";
import { type Database, parquetScan } from "./database.ts";
import { copyToParquet, fillTable } from "./derived-file.ts";
import type { Region } from "./region-map.ts";

const PAGE_BYTES = 4096;

/** Name of the SQL table that `fillRegionTable` makes. */
export const REGION_TABLE = "region_map";

/** Creates the table `region_map` in SQL, without the columns that come from the trace. */
export async function fillRegionTable(database: Database, regions: readonly Region[], originNs: bigint): Promise<void> {
  const time = (ns: number): bigint => originNs + BigInt(Math.round(ns));
  await fillTable(
    database,
    REGION_TABLE,
    "region_map",
    regions.map((region) => ({
      region_id: BigInt(region.region_id),
      region_type: region.region_type,
      page_min: BigInt(Math.floor(region.begin / PAGE_BYTES)),
      page_max: BigInt(Math.floor((region.end - 1) / PAGE_BYTES)),
      first_seen_ns: time(region.birth_ns),
      last_seen_ns: time(region.death_ns),
      access_count: 0n,
      pid: region.pid,
      exec_epoch: region.exec_epoch,
      logical_id: region.logical_id,
      name: region.name,
      tensor: region.tensor,
      layer: region.layer,
      addr: region.addr,
      size_bytes: BigInt(region.size_bytes),
      mapping_kind: region.mapping_kind,
      birth_ns: time(region.birth_ns),
      death_ns: time(region.death_ns),
      birth_censored: region.birth_censored,
      death_censored: region.death_censored,
      evidence: region.evidence,
      confidence: region.confidence,
      candidates: region.candidates.length === 0 ? null : JSON.stringify(region.candidates),
    })),
  );
}

/** Adds what the trace saw: first and last access, and how many. */
export async function countAccesses(database: Database, traceParts: readonly string[]): Promise<void> {
  const select = `
    SELECT m.* REPLACE (
      coalesce(CAST(a.first_seen AS BIGINT), m.first_seen_ns) AS first_seen_ns,
      coalesce(CAST(a.last_seen AS BIGINT), m.last_seen_ns) AS last_seen_ns,
      coalesce(a.n, 0) AS access_count)
    FROM ${REGION_TABLE} AS m
    LEFT JOIN (
      SELECT region_id, min(timestamp_ns) AS first_seen, max(timestamp_ns) AS last_seen, count(*) AS n
      FROM ${parquetScan(traceParts)} GROUP BY region_id
    ) AS a ON a.region_id = m.region_id
    ORDER BY m.region_id`;
  await database.run(`CREATE OR REPLACE TABLE ${REGION_TABLE} AS ${select}`);
}

/** Writes region_map.parquet. */
export async function writeRegionMap(database: Database, runDir: string): Promise<void> {
  await copyToParquet(database, `SELECT * FROM ${REGION_TABLE} ORDER BY region_id`, join(runDir, "region_map.parquet"));
}

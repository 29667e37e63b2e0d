/** region_map.parquet: the regions, and what the trace saw of each. */
import { join } from "node:path";
import type { Database } from "../../sql/database.ts";
import { copyToParquet, fillTable } from "../../sql/derived-file.ts";
import type { RegionAccesses } from "../trace/row-labels.ts";
import type { Region } from "./region-map.ts";

const PAGE_BYTES = 4096;

/** Name of the SQL table that `fillRegionTable` makes. */
export const REGION_TABLE = "region_map";

/** Creates the table `region_map` in SQL, with what the trace saw of each region. */
export async function fillRegionTable(
  database: Database,
  regions: readonly Region[],
  accesses: RegionAccesses,
  originNs: bigint,
): Promise<void> {
  const time = (ns: number): bigint => originNs + BigInt(Math.round(ns));
  const seen = (index: number): boolean => (accesses.rows[index] ?? 0) > 0;
  await fillTable(
    database,
    REGION_TABLE,
    "region_map",
    regions.map((region, index) => ({
      region_id: BigInt(region.region_id),
      region_type: region.region_type,
      page_min: BigInt(Math.floor(region.begin / PAGE_BYTES)),
      page_max: BigInt(Math.floor((region.end - 1) / PAGE_BYTES)),
      first_seen_ns: time(seen(index) ? (accesses.first_ns[index] ?? 0) : region.birth_ns),
      last_seen_ns: time(seen(index) ? (accesses.last_ns[index] ?? 0) : region.death_ns),
      access_count: BigInt(accesses.rows[index] ?? 0),
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

/** Writes region_map.parquet. */
export async function writeRegionMap(database: Database, runDir: string): Promise<void> {
  await copyToParquet(database, `SELECT * FROM ${REGION_TABLE} ORDER BY region_id`, join(runDir, "region_map.parquet"));
}

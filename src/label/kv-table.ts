/** kv_block_lifecycle.parquet. */
import { join } from "node:path";
import { columnsOf } from "../schema/columns.ts";
import type { Database } from "./database.ts";
import { copyToParquet, fillTable } from "./derived-file.ts";
import type { KvRow } from "./kv-lifecycle.ts";

const TABLE = "kv_block_lifecycle";
const PAGE_SHIFT = 12n;

/** Writes the rows, numbered from 1 in the order given; a last read of 0 says never. */
export async function writeKvLifecycle(
  database: Database,
  runDir: string,
  rows: readonly KvRow[],
  originNs: bigint,
): Promise<void> {
  const time = (ns: number): bigint => originNs + BigInt(Math.round(ns));
  await fillTable(
    database,
    TABLE,
    TABLE,
    rows.map((row, index) => ({
      block_id: BigInt(index + 1),
      address: row.addr,
      address_page: row.addr === null ? null : row.addr >> PAGE_SHIFT,
      write_ns: time(row.write_ns),
      last_read_ns: row.last_read_ns === null ? 0n : time(row.last_read_ns),
      evict_ns: row.evict_ns === null ? null : time(row.evict_ns),
      total_reads: BigInt(row.total_reads),
      lifetime_ns: BigInt(Math.round((row.evict_ns ?? row.last_read_ns ?? row.write_ns) - row.write_ns)),
      pid: row.pid,
      layer: row.tensor.layer,
      tensor: row.tensor.name,
      position: row.position,
      size_bytes: BigInt(Math.round(row.tensor.row_bytes)),
      evidence: row.evidence,
    })),
  );
  const columns = columnsOf(TABLE).map((column) => column.name);
  const select = `SELECT ${columns.join(", ")} FROM ${TABLE} ORDER BY block_id`;
  await copyToParquet(database, select, join(runDir, `${TABLE}.parquet`));
  await database.run(`DROP TABLE ${TABLE}`);
}

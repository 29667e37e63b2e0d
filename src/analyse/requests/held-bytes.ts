/** Bytes of KV rows that sequences hold, at moments, by the lives of the rows. */
import { join } from "node:path";
import { type Database, parquetScan } from "../../sql/database.ts";

export interface Moment {
  readonly id: number;
  readonly pid: number;
  readonly sequence: number;
  /** ns of CLOCK_MONOTONIC. */
  readonly at_ns: bigint;
}

/** The moments as a relation; numbers alone stand in it. */
function momentRows(moments: readonly Moment[]): string {
  return moments.map(({ id, pid, sequence, at_ns }) => `(${pid}, ${sequence}, ${at_ns}, 0, ${id})`).join(", ");
}

/**
 * Bytes of the rows that a sequence has written and not given up by each moment, by the id of the moment; none for a
 * sequence of which no row is known.
 * @param runDir with its kv_block_lifecycle.parquet
 */
export async function heldBytes(
  database: Database,
  runDir: string,
  moments: readonly Moment[],
): Promise<ReadonlyMap<number, bigint>> {
  if (moments.length === 0) return new Map();
  const scan = parquetScan([join(runDir, "kv_block_lifecycle.parquet")]);
  const rows = await database.rows(`
    WITH lives AS (SELECT pid, sequence_id, write_ns, evict_ns, size_bytes FROM ${scan} WHERE sequence_id IS NOT NULL),
    changes (pid, sequence_id, at_ns, bytes, id) AS (
      SELECT pid, sequence_id, write_ns, size_bytes, NULL FROM lives
      UNION ALL SELECT pid, sequence_id, evict_ns, -size_bytes, NULL FROM lives WHERE evict_ns IS NOT NULL
      UNION ALL VALUES ${momentRows(moments)}
    ),
    held AS (
      SELECT id, CAST(sum(bytes) OVER (PARTITION BY pid, sequence_id ORDER BY at_ns, id NULLS FIRST
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS bytes,
        count(*) FILTER (WHERE id IS NULL) OVER (PARTITION BY pid, sequence_id) AS known
      FROM changes
    )
    SELECT id, bytes FROM held WHERE id IS NOT NULL AND known > 0`);
  return new Map(rows.map(({ id, bytes }) => [Number(id), BigInt(bytes as bigint)]));
}

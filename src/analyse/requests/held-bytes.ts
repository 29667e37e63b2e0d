/** Bytes of KV rows that sequences hold, at moments, by the lives of the rows. */
import { join } from "node:path";
import { type Database, parquetScan } from "../../sql/database.ts";

export interface Moment {
  readonly id: number;
  readonly pid: number;
  readonly sequence: number;
  /** That the sequence has then: each has a row in every cache tensor. */
  readonly tokens: number;
  /** ns of CLOCK_MONOTONIC. */
  readonly at_ns: bigint;
}

/** The moments as a relation; numbers alone stand in it. */
function momentRows(moments: readonly Moment[]): string {
  return moments
    .map(({ id, pid, sequence, at_ns, tokens }) => `(${pid}, ${sequence}, ${at_ns}, 0, 0, ${id}, ${tokens})`)
    .join(", ");
}

/**
 * Bytes of the rows that a sequence has written and not given up by each moment, by the id of the moment. None where they
 * are not the rows of its tokens: of what was restored, shifted away or written before its tensor was known some are missing.
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
    WITH lives AS (
      SELECT pid, sequence_id, write_ns, evict_ns, size_bytes, tensor FROM ${scan} WHERE sequence_id IS NOT NULL
    ),
    tensors AS (SELECT pid, count(DISTINCT tensor) AS tensors FROM lives GROUP BY pid),
    changes (pid, sequence_id, at_ns, bytes, rows, id, tokens) AS (
      SELECT pid, sequence_id, write_ns, size_bytes, 1, NULL, NULL FROM lives
      UNION ALL SELECT pid, sequence_id, evict_ns, -size_bytes, -1, NULL, NULL FROM lives WHERE evict_ns IS NOT NULL
      UNION ALL VALUES ${momentRows(moments)}
    ),
    held AS (
      SELECT pid, id, tokens,
        CAST(sum(bytes) OVER until_then AS BIGINT) AS bytes, CAST(sum(rows) OVER until_then AS BIGINT) AS rows
      FROM changes
      WINDOW until_then AS (PARTITION BY pid, sequence_id ORDER BY at_ns, id NULLS FIRST
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    SELECT id, bytes FROM held JOIN tensors ON held.pid = tensors.pid
    WHERE id IS NOT NULL AND rows > 0 AND rows = tokens * tensors`);
  return new Map(rows.map(({ id, bytes }) => [Number(id), BigInt(bytes as bigint)]));
}

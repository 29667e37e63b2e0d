/**
 * Allocations in the region map: the largest of them, a row for each lifetime, beside the mappings in which they lie.
 *
 * A capture may hold hundreds of millions; all of them are in capture/allocation, and figures count all. Accesses are
 * labelled by mapping and tensor alone: an allocation's time is not known well enough to say that an access met it.
 */
import { type Capture, reasonOf, type Segment } from "./capture.ts";
import { type Database, parquetScan } from "./database.ts";
import { CONFIDENCE } from "./evidence.ts";
import { REGION_TABLE } from "./region-table.ts";
import { columnList } from "./stream-table.ts";
import { emptyRelation } from "./table-sql.ts";

/** Rows of the region map for allocations, the largest first. */
export const MAX_ALLOCATION_REGIONS = 1 << 16;

const STREAMS = ["allocation", "allocation_total", "allocation_stack"] as const;
type AllocationStream = (typeof STREAMS)[number];

async function unreadable(database: Database, stream: AllocationStream, segment: Segment): Promise<string | null> {
  try {
    await database.run(`SELECT bit_xor(hash(${columnList(stream)})) FROM ${parquetScan([segment.path])}`);
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Moves the segments of allocations whose pages cannot be read to `skipped`; false when all can. */
async function dropUnreadable(database: Database, capture: Capture): Promise<boolean> {
  let dropped = false;
  for (const stream of STREAMS) {
    const readable: Segment[] = [];
    for (const segment of capture.segments[stream]) {
      const reason = await unreadable(database, stream, segment);
      if (reason === null) readable.push(segment);
      else capture.skipped.push({ stream, path: segment.path, reason });
    }
    dropped ||= readable.length < capture.segments[stream].length;
    capture.segments[stream].splice(0, Number.POSITIVE_INFINITY, ...readable);
  }
  return dropped;
}

async function createViews(database: Database, capture: Capture): Promise<void> {
  for (const stream of STREAMS) {
    const paths = capture.segments[stream].map(({ path }) => path);
    const rows = paths.length === 0 ? emptyRelation(stream) : parquetScan(paths);
    await database.run(`CREATE OR REPLACE VIEW ${stream} AS SELECT * FROM ${rows}`);
  }
  await database.run(
    "CREATE OR REPLACE VIEW allocation_end AS SELECT pid, max(timestamp_ns) AS end_ns, max(error_ns) AS error_ns FROM allocation_total GROUP BY pid",
  );
}

/** The largest lifetimes, ties by birth; named by the innermost Python frame that called for them. */
function largest(firstId: number): string {
  return `
    WITH chosen AS (
      SELECT a.*, row_number() OVER (ORDER BY size_bytes DESC, pid, birth_order, addr) AS place
      FROM (SELECT * FROM allocation WHERE size_bytes > 0 ORDER BY size_bytes DESC, pid, birth_order, addr LIMIT ${MAX_ALLOCATION_REGIONS}) AS a
    )
    SELECT
      CAST(${firstId - 1} + c.place AS BIGINT) AS region_id,
      'runtime' AS region_type,
      TRY_CAST(c.addr // 4096 AS BIGINT) AS page_min,
      TRY_CAST((CAST(c.addr AS HUGEINT) + c.size_bytes - 1) // 4096 AS BIGINT) AS page_max,
      TRY_CAST(c.timestamp_ns AS BIGINT) AS first_seen_ns,
      TRY_CAST(coalesce(c.death_ns, e.end_ns, c.timestamp_ns) AS BIGINT) AS last_seen_ns,
      CAST(0 AS BIGINT) AS access_count,
      c.pid,
      coalesce(p.exec_epoch, CAST(0 AS UINTEGER)) AS exec_epoch,
      CAST(NULL AS VARCHAR) AS logical_id,
      s.function || ' (' || coalesce(s.file, '') || ':' || CAST(coalesce(s.line, 0) AS VARCHAR) || ')' AS name,
      CAST(NULL AS VARCHAR) AS tensor,
      CAST(NULL AS INTEGER) AS layer,
      c.addr,
      c.size_bytes,
      'allocation/' || c.allocator AS mapping_kind,
      c.timestamp_ns AS birth_ns,
      coalesce(c.death_ns, e.end_ns, c.timestamp_ns) AS death_ns,
      false AS birth_censored,
      c.death_ns IS NULL AS death_censored,
      'memray' AS evidence,
      CAST(${CONFIDENCE.memray} AS FLOAT) AS confidence,
      CAST(NULL AS VARCHAR) AS candidates
    FROM chosen AS c
    LEFT JOIN allocation_end AS e ON e.pid = c.pid
    LEFT JOIN (SELECT pid, max(exec_epoch) AS exec_epoch FROM ${REGION_TABLE} GROUP BY pid) AS p ON p.pid = c.pid
    LEFT JOIN (SELECT * FROM allocation_stack WHERE kind = 'python') AS s ON s.pid = c.pid AND s.stack_id = c.stack_id
    ORDER BY c.place`;
}

/**
 * Adds allocations to the table of regions, and leaves the views `allocation`, `allocation_total` and `allocation_end`.
 * Segments that cannot be read are added to `capture.skipped`.
 * @param firstId number of the first region that it adds
 * @returns how many it added
 */
export async function addAllocationRegions(database: Database, capture: Capture, firstId: number): Promise<number> {
  for (;;) {
    try {
      await createViews(database, capture);
      await database.run(`INSERT INTO ${REGION_TABLE} ${largest(firstId)}`);
      const [added] = await database.rows(`SELECT count(*) AS n FROM ${REGION_TABLE} WHERE region_id >= ${firstId}`);
      return Number(added?.n ?? 0);
    } catch (error) {
      if (!(await dropUnreadable(database, capture))) throw error;
    }
  }
}

/**
 * Allocations in the region map: the largest of them, a row for each lifetime, beside the mappings in which they lie.
 *
 * A capture may hold hundreds of millions; all of them are in capture/allocation, and figures count all. Accesses are
 * labelled by mapping and tensor alone: an allocation's time is not known well enough to say that an access met it.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Database, parquetScan } from "../../sql/database.ts";
import { copyToParquet, UNFINISHED } from "../../sql/derived-file.ts";
import { withAllocations } from "../capture/allocation-database.ts";
import type { Capture } from "../capture/capture.ts";
import { CONFIDENCE } from "./evidence.ts";
import { REGION_TABLE } from "./region-table.ts";

/** Rows of the region map for allocations, the largest first. */
export const MAX_ALLOCATION_REGIONS = 1 << 16;

/** Allocations by size, in bins of 0.5 %, the largest first. */
const SIZES = `
  SELECT count(*) AS n, min(size_bytes) AS least FROM allocation WHERE size_bytes > 0
  GROUP BY CAST(floor(128 * log2(size_bytes)) AS INTEGER) ORDER BY least DESC`;

/** Sizes that are all in the map, from `whole` up, and of those from `part` up so many as there is room for. */
interface Choice {
  readonly whole: bigint;
  readonly part: bigint;
  readonly room: number;
}

/** Bins of the largest while they fit: to sort hundreds of millions for the last few would take as long as all else. */
async function chooseSizes(database: Database): Promise<Choice | null> {
  let room = MAX_ALLOCATION_REGIONS;
  let whole: bigint | null = null;
  for (const { n, least } of await database.rows(SIZES)) {
    const size = BigInt(String(least));
    if (Number(n) > room) return { whole: whole ?? 2n ** 64n - 1n, part: size, room };
    room -= Number(n);
    whole = size;
  }
  return whole === null ? null : { whole, part: whole, room: 0 };
}

const rowsOf = ({ whole, part, room }: Choice): string => `
  WITH chosen AS (
    SELECT * FROM allocation WHERE size_bytes >= ${whole}
    UNION ALL
    (SELECT * FROM allocation WHERE size_bytes >= ${part} AND size_bytes < ${whole} LIMIT ${room})
  )
  SELECT c.*, coalesce(c.death_ns, e.end_ns, c.timestamp_ns) AS last_ns, s.function, s.file, s.line
  FROM chosen AS c
  LEFT JOIN allocation_end AS e ON e.pid = c.pid
  LEFT JOIN (SELECT * FROM allocation_stack WHERE kind = 'python') AS s ON s.pid = c.pid AND s.stack_id = c.stack_id`;

/** Rows of the region map, the largest first; the process's own program is the last that it executed. */
const regionsOf = (path: string, firstId: number): string => `
  SELECT
    CAST(${firstId - 1} + row_number() OVER (ORDER BY c.size_bytes DESC, c.pid, c.birth_order, c.addr) AS BIGINT) AS region_id,
    'runtime' AS region_type,
    TRY_CAST(c.addr // 4096 AS BIGINT) AS page_min,
    TRY_CAST((CAST(c.addr AS HUGEINT) + c.size_bytes - 1) // 4096 AS BIGINT) AS page_max,
    TRY_CAST(c.timestamp_ns AS BIGINT) AS first_seen_ns,
    TRY_CAST(c.last_ns AS BIGINT) AS last_seen_ns,
    CAST(0 AS BIGINT) AS access_count,
    c.pid,
    coalesce(p.exec_epoch, CAST(0 AS UINTEGER)) AS exec_epoch,
    CAST(NULL AS VARCHAR) AS logical_id,
    c.function || ' (' || coalesce(c.file, '') || ':' || CAST(coalesce(c.line, 0) AS VARCHAR) || ')' AS name,
    CAST(NULL AS VARCHAR) AS tensor,
    CAST(NULL AS INTEGER) AS layer,
    c.addr,
    c.size_bytes,
    'allocation/' || c.allocator AS mapping_kind,
    c.timestamp_ns AS birth_ns,
    c.last_ns AS death_ns,
    false AS birth_censored,
    c.death_ns IS NULL AS death_censored,
    'memray' AS evidence,
    CAST(${CONFIDENCE.memray} AS FLOAT) AS confidence,
    CAST(NULL AS VARCHAR) AS candidates
  FROM ${parquetScan([path])} AS c
  LEFT JOIN (SELECT pid, max(exec_epoch) AS exec_epoch FROM ${REGION_TABLE} GROUP BY pid) AS p ON p.pid = c.pid
  ORDER BY region_id`;

/**
 * Adds the largest allocations to the table of regions; at the bound, those within 0.5 % of a size come as they stand in
 * the capture. Segments that cannot be read are added to `capture.skipped`.
 * @param firstId number of the first region that it adds
 * @returns how many it added
 */
export async function addAllocationRegions(database: Database, capture: Capture, firstId: number): Promise<number> {
  if (capture.segments.allocation.length === 0) return 0;
  const path = join(capture.runDir, `allocations${UNFINISHED}.parquet`);
  try {
    const found = await withAllocations(capture, async (allocations) => {
      const choice = await chooseSizes(allocations);
      if (choice !== null) await copyToParquet(allocations, rowsOf(choice), path);
      return choice !== null;
    });
    if (!found) return 0;
    await database.run(`INSERT INTO ${REGION_TABLE} ${regionsOf(path, firstId)}`);
    const [added] = await database.rows(`SELECT count(*) AS n FROM ${REGION_TABLE} WHERE region_id >= ${firstId}`);
    return Number(added?.n ?? 0);
  } finally {
    await rm(path, { force: true });
  }
}

/** An SQL engine of its own for allocations, small enough that a capture of any size is reduced in 100 MB. */
import { join } from "node:path";
import { type Database, openDatabase, parquetScan } from "../../sql/database.ts";
import { emptyRelation } from "../../sql/table-sql.ts";
import { type Capture, reasonOf, type Segment } from "./capture.ts";
import { columnList } from "./stream-columns-sql.ts";

/** One thread: each holds a row group, and the order of what it writes is that of the files. */
const LIMITS = { threads: 1, memoryLimitBytes: 64 * 2 ** 20 };
const STREAMS = ["allocation", "allocation_total", "allocation_stack", "allocation_site"] as const;

async function unreadable(
  database: Database,
  stream: (typeof STREAMS)[number],
  { path }: Segment,
): Promise<string | null> {
  try {
    await database.run(`SELECT bit_xor(hash(${columnList(stream)})) FROM ${parquetScan([path])}`);
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
      else capture.skipped.push({ stream, path: segment.path, rows: segment.rows, reason });
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

/**
 * Runs `use` on a database with the views `allocation`, `allocation_total`, `allocation_stack`, `allocation_site` and
 * `allocation_end` (pid, end_ns, error_ns); again without them where segments cannot be read, which are added to `capture.skipped`.
 */
export async function withAllocations<T>(capture: Capture, use: (database: Database) => Promise<T>): Promise<T> {
  await using database = await openDatabase({ ...LIMITS, spillFolder: join(capture.runDir, ".spill.unfinished") });
  for (;;) {
    try {
      await createViews(database, capture);
      return await use(database);
    } catch (error) {
      if (!(await dropUnreadable(database, capture))) throw error;
    }
  }
}

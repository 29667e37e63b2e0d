/** The SQL engine of exports, small enough that a run of any size goes out in little memory. */
import { join } from "node:path";
import type { DuckDBValue } from "@duckdb/node-api";
import { type Database, openDatabase } from "../sql/database.ts";
import type { ExportTask } from "./export-format.ts";

const MEMORY_BYTES = 160 * 2 ** 20;

export async function openExportDatabase({ run, signal }: ExportTask): Promise<Database> {
  const spillFolder = join(run.runDir, ".spill.unfinished");
  return await openDatabase({ memoryLimitBytes: MEMORY_BYTES, spillFolder, signal });
}

/** The rows of a query, of which few are held; values in the order of its columns. */
export async function* streamRows(
  { connection }: Database,
  sql: string,
): AsyncGenerator<readonly DuckDBValue[], void, void> {
  const result = await connection.stream(sql);
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return;
    yield* chunk.getRows();
  }
}

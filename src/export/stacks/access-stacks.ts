/** Sampled accesses by function, class of the bytes and operation. */
import { existsSync } from "node:fs";
import { tableFiles } from "../../run-directory/table-files.ts";
import { type Database, parquetScan } from "../../sql/database.ts";
import { formatCounted } from "../../units.ts";
import type { ExportTask } from "../export-format.ts";
import { codeFrame } from "./code-frame.ts";
import type { Stack } from "./stack.ts";

// Samples of some accesses only, such as those above a latency, have a period of 0.
const SUMS = `
SELECT pid, dso, symbol, region_type, op_type, source, count(*) AS n, CAST(sum(period) AS DOUBLE) AS total,
  count(*) FILTER (coalesce(period, 0) = 0) AS unknown
FROM`;

/**
 * Watched addresses are drawn at random, so their traps say nothing of how often code accesses memory.
 * @returns how many samples do not say how many accesses they stand for, too: they are in no stack
 */
export async function accessStacks(
  database: Database,
  { run, leaveOut, goOn }: ExportTask,
): Promise<{ readonly stacks: readonly Stack[]; readonly unweighed: number }> {
  const files = run.tables.includes("trace") ? tableFiles(run.runDir, "trace").filter((path) => existsSync(path)) : [];
  if (files.length === 0) return { stacks: [], unweighed: 0 };
  const rows = await database.rows(`${SUMS} ${parquetScan(files)} GROUP BY ALL ORDER BY ALL`);
  await goOn(0, null);
  const stacks: Stack[] = [];
  let traps = 0;
  let unknown = 0;
  for (const row of rows) {
    if (row.source === "watch") {
      traps += Number(row.n);
      continue;
    }
    unknown += Number(row.unknown);
    const total = Number(row.total ?? 0);
    if (total === 0) continue;
    const frame = codeFrame({ dso: String(row.dso ?? ""), symbol: String(row.symbol ?? "") });
    const labels = { class: String(row.region_type ?? "unknown"), operation: String(row.op_type ?? "unknown") };
    const values = row.source === "clock" ? { cpu_ns: total } : { accesses: total };
    stacks.push({ pid: Number(row.pid ?? 0), frames: [frame], labels, values });
  }
  if (traps > 0)
    leaveOut(`${formatCounted(traps, "trap")} of watches: their addresses were drawn, so they are no count`);
  if (unknown > 0) leaveOut(`${formatCounted(unknown, "access")} of which nobody knows how many they stand for`);
  return { stacks, unweighed: unknown };
}

/** `perfetto`: a trace for ui.perfetto.dev: processes, phases, steps of the engine, regions' lives, and counters. */
import { MrmTraceError } from "../errors.ts";
import { formatCount } from "../units.ts";
import { openExportDatabase } from "./database.ts";
import type { ExportTask, FileFormat } from "./export-format.ts";
import type { NewFile } from "./new-file.ts";
import { writeEngineSteps } from "./perfetto/engine-steps.ts";
import { writeProcessCounters } from "./perfetto/process-counters.ts";
import { writeRegionLives } from "./perfetto/region-lives.ts";
import { runTimes } from "./perfetto/run-times.ts";
import { traceWriter } from "./perfetto/trace-writer.ts";

/** Tables whose rows are no tracks. */
const LEFT_OUT = [
  ["trace", "accesses one by one"],
  ["fault", "page faults one by one"],
  ["allocation", "allocations one by one"],
  ["watch", "watches"],
  ["kv_block_lifecycle", "rows of KV caches"],
] as const;

/** The processes that anything is shown of. */
function pidsOf({ run }: ExportTask): number[] {
  const pids = new Set<number>();
  for (const table of ["step", "process", "allocation_memory", "region_map"] as const) {
    for (const { rows, columns } of run.batches(table)) {
      const pid = columns.pid;
      if (pid === undefined || !("data" in pid)) continue;
      for (let row = 0; row < rows; row++) if (pid.valid?.[row] !== 0) pids.add(Number(pid.data[row]));
    }
  }
  return [...pids].sort((a, b) => a - b);
}

async function write(task: ExportTask, file: NewFile): Promise<void> {
  const { run, leaveOut } = task;
  const times = runTimes(run);
  if (times === null) {
    const hint = "choose another --format, such as csv";
    throw new MrmTraceError(
      "usage",
      "the run has no steps, regions or readings of memory, of which a trace is made",
      hint,
    );
  }
  const writer = traceWriter(file);
  const { started_ns, started_at_utc } = run.metadata.timing;
  const began = started_at_utc === null ? null : BigInt(Date.parse(started_at_utc)) * 1_000_000n;
  writer.clock(began === null ? times.origin_ns : BigInt(started_ns), began);
  for (const pid of pidsOf(task)) writer.process(pid, `pid ${pid}`);
  await writeEngineSteps(task, writer, times);
  await writeProcessCounters(task, writer);
  await using database = await openExportDatabase(task);
  await writeRegionLives(database, task, writer);
  for (const [table, what] of LEFT_OUT) {
    const rows = run.tables.includes(table) ? run.countRows(table) : 0;
    if (rows > 0) leaveOut(`${what} (${formatCount(rows)} in the table ${table})`);
  }
  leaveOut(`the figures with their intervals (table metrics)`);
}

export const perfetto: FileFormat = { makes: "file", takes: [], ending: () => "perfetto-trace", write };

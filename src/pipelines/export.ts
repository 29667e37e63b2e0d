/** A finished run, or a table of it, in the format of another tool. */
import { basename, resolve } from "node:path";
import { MrmTraceError } from "../errors.ts";
import type { ExportFormat, ExportTask } from "../export/export-format.ts";
import { type FormatName, loadFormat } from "../export/formats.ts";
import { openNewFile } from "../export/new-file.ts";
import { openNewFolder } from "../export/new-folder.ts";
import { openSource, type RunSource } from "../export/run-source.ts";
import type { ValueName } from "../export/stacks/stack.ts";
import type { Progress } from "../report/progress.ts";
import { RUN_TABLES, type RunTable } from "../run-directory/table-files.ts";
import { heard } from "./heard.ts";

export interface ExportRequest {
  /** As the user typed it. */
  readonly runDir: string;
  readonly format: FormatName;
  /** Default: a name made of the run and the format, in the current folder. */
  readonly out: string | undefined;
  readonly force: boolean;
  /** Options that not every format takes; undefined where they were not given. */
  readonly choices: {
    readonly table: string | undefined;
    readonly value: ValueName | undefined;
    readonly license: string | undefined;
  };
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

export interface Exported {
  readonly path: string;
  /** Of the file, or of all files of the folder. */
  readonly size_bytes: number;
  /** What of the run the format does not carry. */
  readonly left_out: readonly string[];
  /** Segments of capture/ that could not be read. */
  readonly unreadable: readonly string[];
}

/** @throws MrmTraceError usage */
function requireTaken(name: FormatName, format: ExportFormat, choices: ExportRequest["choices"]): void {
  for (const [option, value] of Object.entries(choices)) {
    if (value === undefined || format.takes.some((taken) => taken === option)) continue;
    throw new MrmTraceError("usage", `--${option} is no option of the format ${name}`, `leave --${option} out`);
  }
}

/** The table that was asked for, or that of the figures. @throws MrmTraceError usage, where the run has no such table */
function tableOf({ tables }: RunSource, asked: string | undefined): RunTable {
  const table = RUN_TABLES.find((name) => name === (asked ?? "metrics"));
  if (table !== undefined && tables.includes(table)) return table;
  const what = table === undefined ? `there is no table "${asked}"` : `the run has no table "${table}"`;
  throw new MrmTraceError("usage", what, `give --table one of: ${tables.join(", ")}`);
}

/** @returns bytes that were written */
async function writeTo(path: string, format: ExportFormat, task: ExportTask, force: boolean): Promise<number> {
  if (format.makes === "file") {
    using file = openNewFile(path, force);
    await format.write(task, file);
    task.signal.throwIfAborted();
    file.finish();
    return file.size_bytes;
  }
  using folder = openNewFolder(path, force);
  await format.write(task, folder);
  task.signal.throwIfAborted();
  folder.finish();
  return folder.size_bytes;
}

/**
 * Writes the export, under another name until it is whole.
 * @throws MrmTraceError usage (no run, no such table, something is there), data_quality (not analysed, damaged),
 *   environment (nothing can be written there); what the signal carries, and then nothing is left
 */
export async function exportRun(request: ExportRequest): Promise<Exported> {
  const { format: name, progress, signal, choices } = request;
  const run = openSource(request.runDir);
  const format = await loadFormat(name);
  requireTaken(name, format, choices);
  const left_out: string[] = [];
  const table = format.takes.includes("table") ? tableOf(run, choices.table) : "metrics";
  const task: ExportTask = {
    run,
    table,
    value: choices.value,
    license: choices.license,
    signal,
    leaveOut: (what) => void left_out.push(what),
    async goOn(rows, share) {
      progress.update({ phase: `writing ${name}`, tokens: 0, events: rows, lost: 0, share });
      await heard(signal);
    },
  };
  const path = resolve(request.out ?? `${basename(run.runDir)}.${format.ending(task)}`);
  const size_bytes = await writeTo(path, format, task, request.force);
  return { path, size_bytes, left_out, unreadable: [...run.unreadable] };
}

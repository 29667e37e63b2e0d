/** The lives of the KV rows of a finished run, drawn as text; nothing is derived again. */
import { join } from "node:path";
import { openRun } from "../api/open-run.ts";
import { MrmTraceError } from "../errors.ts";
import { chartParts, drawnLives } from "../report/kv-lives/drawn-lives.ts";
import { type KvLives, type LifeFiles, readKvLives } from "../report/kv-lives/row-lives.ts";
import { untoldRows } from "../report/kv-lives/untold-rows.ts";
import { type Line, type Terminal, wrap } from "../report/terminal.ts";
import { analyseCommand } from "../run-directory/shell-words.ts";
import { tableFiles } from "../run-directory/table-files.ts";
import { openDatabase } from "../sql/database.ts";

async function read(runDir: string, files: LifeFiles, parts: number): Promise<KvLives | null> {
  await using database = await openDatabase({ spillFolder: join(runDir, ".spill.unfinished") });
  try {
    return await readKvLives(database, files, parts);
  } catch (error) {
    const message = error instanceof Error ? error.message.split("\n")[0] : String(error);
    throw new MrmTraceError("data_quality", `rows of the KV cache cannot be read: ${message}`, analyseCommand(runDir));
  }
}

/**
 * @param runDir as the user typed it
 * @throws MrmTraceError usage (no folder of a run), data_quality (it was not analysed, is damaged, or was written by another
 *   major version)
 */
export async function drawnRows(runDir: string, terminal: Terminal): Promise<Line[]> {
  using run = openRun(runDir);
  const untold = untoldRows(run.metrics());
  const [rows = ""] = tableFiles(run.runDir, "kv_block_lifecycle");
  const files = { rows, requests: tableFiles(run.runDir, "request_figures"), steps: tableFiles(run.runDir, "step") };
  const lives = await read(run.runDir, files, chartParts(terminal));
  if (lives !== null) return drawnLives(lives, untold, terminal);
  const why = untold ?? "no step that the run recorded tells of one";
  return wrap(`no row of a KV cache is known: ${why}`, terminal.width).map((text) => [{ text }]);
}

/** The one answer to a folder that is no run or has no figures yet, whoever reads it. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { lookAt, requireFolder } from "./named-path.ts";
import { runPaths } from "./run-directory.ts";
import { analyseCommand, shellWords } from "./shell-words.ts";

/** Runs lie in results/MODEL/RUN_ID: no deeper than this below a folder that was named in their place. */
const DEEPEST = 2;
/** Who names a folder of many others meant no results. */
const MOST_FOLDERS = 2000;

/** Folders in a folder, of such names as ours have; none where it cannot be read. */
function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    const named = entries.filter((entry) => entry.isDirectory() && /^[\w.-]+$/.test(entry.name));
    return named.map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}

/** When a run was derived; 0 for what is none, or is another user's. */
function derivedAt(folder: string): number {
  try {
    return statSync(runPaths(folder).metadata).mtimeMs;
  } catch {
    return 0;
  }
}

/** The run below a folder that was derived last; null where there is none. */
function newestBelow(folder: string): string | null {
  let newest: { readonly run: string; readonly at_ms: number } | null = null;
  let folders = [folder];
  for (let depth = 0; depth < DEEPEST; depth++) {
    folders = folders.flatMap(foldersIn).slice(0, MOST_FOLDERS);
    for (const run of folders) {
      const at_ms = derivedAt(run);
      if (at_ms > (newest?.at_ms ?? 0)) newest = { run, at_ms };
    }
  }
  return newest?.run ?? null;
}

/**
 * @param typed the folder, as the user typed it
 * @throws MrmTraceError usage, where it is no folder of a run; environment, where it may not be read; data_quality, where it has no figures yet
 */
export function requireAnalysed(typed: string): void {
  const { metadata, capture } = runPaths(typed);
  requireFolder(typed);
  if (lookAt(metadata, typed) !== null) return;
  if (!existsSync(capture)) {
    const newest = newestBelow(typed);
    const example = newest === null ? "results/MODEL/RUN_ID" : `its newest: ${shellWords([newest])}`;
    const hint = `give the folder of a run, such as ${example}`;
    throw new MrmTraceError("usage", `${typed} is no run: it has no metadata.json and no capture folder`, hint);
  }
  throw new MrmTraceError(
    "data_quality",
    `${typed} has no figures yet: its recording goes on, was cut off, or was made with --record-only`,
    `run, when the recording has ended: ${analyseCommand(typed)}`,
  );
}

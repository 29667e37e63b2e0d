/** The one answer to a folder that is no run or has no figures yet, whoever reads it. */
import { existsSync } from "node:fs";
import { MrmTraceError } from "../errors.ts";
import { lookAt, requireFolder } from "./named-path.ts";
import { runPaths } from "./run-directory.ts";
import { analyseCommand } from "./shell-words.ts";

/**
 * @param typed the folder, as the user typed it
 * @throws MrmTraceError usage, where it is no folder of a run; environment, where it may not be read; data_quality, where it has no figures yet
 */
export function requireAnalysed(typed: string): void {
  const { metadata, capture } = runPaths(typed);
  requireFolder(typed);
  if (lookAt(metadata, typed) !== null) return;
  if (!existsSync(capture)) {
    const hint = "give the folder of a run, such as results/MODEL/RUN_ID";
    throw new MrmTraceError("usage", `${typed} is no run: it has no metadata.json and no capture folder`, hint);
  }
  throw new MrmTraceError(
    "data_quality",
    `${typed} has no figures yet: its recording goes on, was cut off, or was made with --record-only`,
    `run, when the recording has ended: ${analyseCommand(typed)}`,
  );
}

/** What a run prints that was recorded only: where it is, and the command that derives everything from it. */
import { printable } from "../report/terminal.ts";
import { analyseCommand } from "../run-directory/shell-words.ts";
import { toJson } from "../schema/run-json.ts";

/** @param runDir as the user gave it */
export function printRecorded(
  runDir: string,
  { json, quiet }: { readonly json: boolean; readonly quiet: boolean },
): void {
  const derive = analyseCommand(runDir);
  if (json) process.stdout.write(`${toJson({ run_dir: runDir, derive })}\n`);
  else if (!quiet) {
    process.stderr.write(
      `mrm-trace: recorded ${printable(runDir)}; nothing is derived yet\n  next: ${printable(derive)}\n`,
    );
  }
}

/** The run directory of a recording: held while it is written, then given to the user behind sudo. */
import { existsSync, fchownSync, lchownSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createRun, discardRun, type MadeRun } from "../run-directory/create-run.ts";
import { factsPath } from "../run-directory/facts.ts";
import { holdRun, newRunId, type RunDirectory } from "../run-directory/run-directory.ts";
import { type InvokingUser, invokingUser } from "../target/invoking-user.ts";
import { makerOf, rootsGift } from "../target/results-maker.ts";
import type { TracerOptions } from "./start-collectors.ts";

export interface RecordingFolder extends Disposable {
  readonly directory: RunDirectory;
}

/** Gives the folder to its user with all that is in it, itself last: until then nobody else can put anything into it. */
function give({ fd, heldPath, directory }: MadeRun, { uid, gid }: InvokingUser, notice: (line: string) => void): void {
  try {
    for (const entry of readdirSync(heldPath, { withFileTypes: true, recursive: true })) {
      lchownSync(join(entry.parentPath, entry.name), uid, gid);
    }
    fchownSync(fd, uid, gid);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const { path } = directory;
    notice(`results in ${path} stay root's: ${why}; to have them: sudo chown -hR ${uid}:${gid} ${path}`);
  }
}

/** The facts are there from the moment in which everything is attached: before it nothing was recorded. */
function discardEmpty(run: MadeRun): void {
  if (!existsSync(factsPath(run.heldPath))) discardRun(run);
}

/**
 * Makes the run directory and holds it until disposed; then it belongs to the user behind sudo, if there is one. Where no
 * recording began in it by then, it is removed.
 * @param notice told what could not be given
 * @throws MrmTraceError usage or environment, as createRun and holdRun do
 */
export function openRecordingFolder(
  { output, run_id = newRunId(), force }: Pick<TracerOptions, "output" | "run_id" | "force">,
  model_id: string,
  notice: (line: string) => void,
): RecordingFolder {
  const user = invokingUser();
  using opening = new DisposableStack();
  opening.use(rootsGift(join(output, model_id), notice));
  const run = opening.use(createRun({ output, model_id, run_id, force }, makerOf(output)));
  if (user !== null) opening.defer(() => give(run, user, notice));
  opening.use(holdRun(run.heldPath));
  opening.defer(() => discardEmpty(run));
  const owned = opening.move();
  return {
    directory: run.directory,
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}

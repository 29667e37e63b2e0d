/** The run directory of a recording, held while it is written. */
import { join } from "node:path";
import { createRunDirectory, holdRun, newRunId, type RunDirectory } from "../run-directory/run-directory.ts";
import type { TracerOptions } from "./start-collectors.ts";
import { userResults } from "./user-results.ts";

export interface RecordingFolder extends Disposable {
  readonly directory: RunDirectory;
}

/**
 * Makes the run directory and holds it until disposed; then it belongs to the user behind sudo, if there is one.
 * @throws MrmTraceError usage or environment, as createRunDirectory and holdRun do
 */
export function openRecordingFolder(
  { output, run_id = newRunId(), force }: Pick<TracerOptions, "output" | "run_id" | "force">,
  model_id: string,
  notice: (line: string) => void,
): RecordingFolder {
  using opening = new DisposableStack();
  const results = opening.use(userResults(join(output, model_id), notice));
  const directory = createRunDirectory({ output, model_id, run_id, force });
  results.add(directory.path);
  opening.use(holdRun(directory.path));
  const owned = opening.move();
  return {
    directory,
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}

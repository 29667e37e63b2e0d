/** Lines on stderr beside the progress of a recording. */
import type { Progress } from "../report/progress.ts";

export interface Lines {
  /** For a person who asked for more. */
  readonly say: (line: string) => void;
  /** For everybody who did not ask for silence. */
  readonly notice: (line: string) => void;
}

export function linesBeside(progress: Progress, { verbose, quiet }: { verbose: boolean; quiet: boolean }): Lines {
  const print = (line: string): void => {
    progress.clear();
    process.stderr.write(`mrm-trace: ${line}\n`);
  };
  const silent = (): void => {};
  return { say: verbose ? print : silent, notice: quiet ? silent : print };
}

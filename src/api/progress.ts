/** Progress as a program is told of it. */
import type { Progress, ProgressState } from "../report/progress.ts";

const PROGRESS_MS = 100;

/** A progress that tells a program at most every PROGRESS_MS, and at once when the phase is another. */
export function progressTo(tell: ((state: ProgressState) => void) | undefined): Progress {
  let phase = "";
  let toldMs = Number.NEGATIVE_INFINITY;
  return {
    update(state: ProgressState): void {
      const nowMs = performance.now();
      if (tell === undefined || (state.phase === phase && nowMs - toldMs < PROGRESS_MS)) return;
      phase = state.phase;
      toldMs = nowMs;
      tell(state);
    },
    clear() {},
  };
}

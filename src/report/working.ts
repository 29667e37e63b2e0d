/** Progress of work that does not say how far it is: that it goes on, and for how long it has. */
import type { Progress } from "./progress.ts";

const TOLD_MS = 1000;

/** Tells until it is disposed; then the line is gone. */
export function tellWorking(progress: Progress, phase: string): Disposable {
  const tell = (): void => progress.update({ phase, tokens: 0, events: 0, lost: 0, share: null });
  tell();
  const timer = setInterval(tell, TOLD_MS);
  timer.unref();
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      progress.clear();
    },
  };
}

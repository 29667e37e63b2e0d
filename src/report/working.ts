/** Progress of work that counts no events: that it goes on, for how long it has, and what is left where it says how far it is. */
import type { Progress } from "./progress.ts";

const TOLD_MS = 1000;

/** How far work is of which the whole is known; called as often as it likes. */
export type OnShare = (share: number) => void;

/** Tells of work that says how far it is. */
export function tellShare(progress: Progress, phase: string): OnShare {
  return (share) => progress.update({ phase, tokens: 0, events: null, lost: 0, share });
}

/** Tells until it is disposed; then the line is gone. */
export function tellWorking(progress: Progress, phase: string): Disposable {
  const tell = (): void => progress.update({ phase, tokens: 0, events: null, lost: 0, share: null });
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

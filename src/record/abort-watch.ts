/** An AbortSignal in the place of the process's signals: for programs that call `run`, which installs no handler. */
import type { SignalWatch, StopSignal } from "./signals.ts";

/** What is aborted ends as by SIGTERM: the target is told, what was measured is kept. */
const AS: StopSignal = "SIGTERM";

export function watchAbort(signal: AbortSignal | undefined): SignalWatch {
  const acts: ((signal: StopSignal) => void)[] = [];
  const onAbort = (): void => {
    for (const act of acts.splice(0)) act(AS);
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  return {
    get received() {
      return signal?.aborted ? AS : null;
    },
    onFirst(act) {
      if (signal?.aborted) act(AS);
      else acts.push(act);
    },
    onSecond() {
      // A program aborts once.
    },
    [Symbol.dispose]() {
      signal?.removeEventListener("abort", onAbort);
    },
  };
}

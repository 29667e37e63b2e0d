/** SIGINT and SIGTERM during a run: the first goes to the target and ends the run in order, the second ends us at once. */
import { EXIT_CODES } from "../errors.ts";

export type StopSignal = "SIGINT" | "SIGTERM";

export interface SignalWatch extends Disposable {
  /** The first signal that came; null while none has. */
  readonly received: StopSignal | null;
  /** Called with the first signal. */
  onFirst(act: (signal: StopSignal) => void): void;
}

export function watchSignals(): SignalWatch {
  let received: StopSignal | null = null;
  const acts: ((signal: StopSignal) => void)[] = [];
  const handle = (signal: StopSignal): void => {
    if (received !== null) process.exit(signal === "SIGINT" ? EXIT_CODES.interrupted : EXIT_CODES.terminated);
    received = signal;
    for (const act of acts) act(signal);
  };
  const onInterrupt = (): void => handle("SIGINT");
  const onTerminate = (): void => handle("SIGTERM");
  process.on("SIGINT", onInterrupt);
  process.on("SIGTERM", onTerminate);
  return {
    get received() {
      return received;
    },
    onFirst(act) {
      if (received !== null) act(received);
      else acts.push(act);
    },
    [Symbol.dispose]() {
      process.off("SIGINT", onInterrupt);
      process.off("SIGTERM", onTerminate);
    },
  };
}

/** SIGINT and SIGTERM during a run: the first goes to the target and ends the run in order, the second ends us at once. */
import { EXIT_CODES, MrmTraceError } from "../errors.ts";

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
    if (received !== null) process.exit(EXIT_CODES[reasonOf(signal)]);
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

/** What a signal makes of a run: the reason of its end, and the name of its exit code. */
export function reasonOf(signal: StopSignal): "interrupted" | "terminated" {
  return signal === "SIGINT" ? "interrupted" : "terminated";
}

/** @throws MrmTraceError interrupted or terminated, when a signal came before anything was recorded */
export function stopIfAsked({ received }: SignalWatch): void {
  if (received === null) return;
  const message = `${received} came before the target was traced: nothing was recorded`;
  throw new MrmTraceError(reasonOf(received), message, "start it again");
}

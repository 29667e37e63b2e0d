/** SIGINT, SIGTERM and SIGHUP during a run: the first goes to the target and ends the run in order, the second ends us at once. */
import { readFileSync } from "node:fs";
import { EXIT_CODES, MrmTraceError } from "../errors.ts";

/** What a signal makes of a run: the reason of its end, and the name of its exit code. */
const REASONS = { SIGINT: "interrupted", SIGTERM: "terminated", SIGHUP: "hangup" } as const;

export type StopSignal = keyof typeof REASONS;

const SIGHUP_BIT = 1n;

export interface SignalWatch extends Disposable {
  /** The first signal that came; null while none has. */
  readonly received: StopSignal | null;
  /** Called with the first signal. */
  onFirst(act: (signal: StopSignal) => void): void;
  /** Called with the second, just before it ends the process: there is time for a word and no more. */
  onSecond(act: (signal: StopSignal) => void): void;
}

/** That of the process, while there is one. */
let current: SignalWatch | null = null;

/** The watch of the process: whoever asks while there is one gets it, with what it has received. */
export function watchSignals(): SignalWatch {
  current ??= startWatch();
  return current;
}

function startWatch(): SignalWatch {
  let received: StopSignal | null = null;
  const acts: ((signal: StopSignal) => void)[] = [];
  const lastActs: ((signal: StopSignal) => void)[] = [];
  const handle = (signal: StopSignal): void => {
    if (received !== null) {
      for (const act of lastActs) act(signal);
      process.exit(EXIT_CODES[reasonOf(signal)]);
    }
    received = signal;
    for (const act of acts) act(signal);
  };
  const watched = (Object.keys(REASONS) as StopSignal[])
    .filter((signal) => signal !== "SIGHUP" || !ignoresHangup())
    .map((signal) => ({ signal, listener: () => handle(signal) }));
  for (const { signal, listener } of watched) process.on(signal, listener);
  return {
    get received() {
      return received;
    },
    onFirst(act) {
      if (received !== null) act(received);
      else acts.push(act);
    },
    onSecond(act) {
      lastActs.push(act);
    },
    [Symbol.dispose]() {
      current = null;
      for (const { signal, listener } of watched) process.off(signal, listener);
    },
  };
}

/** True where we were started to outlive our terminal, as by nohup: watching the signal would undo that. */
function ignoresHangup(): boolean {
  const [, mask = "0"] = /^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync("/proc/self/status", "latin1")) ?? [];
  return (BigInt(`0x${mask}`) & SIGHUP_BIT) !== 0n;
}

/** What a signal makes of a run: the reason of its end, and the name of its exit code. */
export function reasonOf(signal: StopSignal): (typeof REASONS)[StopSignal] {
  return REASONS[signal];
}

/** @throws MrmTraceError interrupted, terminated or hangup, when a signal came before anything was recorded */
export function stopIfAsked({ received }: SignalWatch): void {
  if (received !== null) throw cameEarly(received);
}

function cameEarly(signal: StopSignal): MrmTraceError {
  const message = `${signal} came before the target was traced: nothing was recorded`;
  return new MrmTraceError(reasonOf(signal), message, "start it again");
}

/** Why a target was not traced: one that is gone was ended by the signal that came to us too, as a terminal sends it to both. */
export async function whyNotBegun(error: unknown, signals: SignalWatch): Promise<unknown> {
  if (!(error instanceof MrmTraceError) || error.code !== "target") return error;
  // A signal is heard between two turns of the loop of events.
  await new Promise((resume) => setImmediate(resume));
  return signals.received === null ? error : cameEarly(signals.received);
}

/** Work that signals end in order, so that nothing half written stays. */
import { MrmTraceError } from "../errors.ts";
import { reasonOf, watchSignals } from "../record/signals.ts";

/** Runs `work` with a signal that the first signal of the process aborts, with what the command then ends with. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  using signals = watchSignals();
  signals.onFirst((signal) => {
    const message = `${signal} came while it was written`;
    controller.abort(new MrmTraceError(reasonOf(signal), message, "run it again: nothing was left behind"));
  });
  return await work(controller.signal);
}

/** Work that SIGINT and SIGTERM end in order, so that nothing half written stays. */
import { MrmTraceError } from "../errors.ts";

/** Runs `work` with a signal that SIGINT and SIGTERM abort, with what the command then ends with. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const hint = "run it again; nothing was left behind";
  const onInterrupt = () => controller.abort(new MrmTraceError("interrupted", "interrupted while writing", hint));
  const onTerminate = () => controller.abort(new MrmTraceError("terminated", "terminated while writing", hint));
  process.once("SIGINT", onInterrupt);
  process.once("SIGTERM", onTerminate);
  try {
    return await work(controller.signal);
  } finally {
    process.off("SIGINT", onInterrupt);
    process.off("SIGTERM", onTerminate);
  }
}

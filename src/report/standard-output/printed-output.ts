/** Whether all that a command printed could be written. */
import { setImmediate } from "node:timers/promises";

export interface PrintedOutput {
  /** Resolves when all of it was taken, with null, or with what the system said of a write that failed. */
  end(): Promise<unknown>;
}

/** To be asked before the first write: a failed write is told once, maybe long before the end. */
export function printedOutput(stream: NodeJS.WriteStream): PrintedOutput {
  let refusal: unknown = null;
  let settle = (): void => {};
  stream.on("error", (error) => {
    refusal ??= error;
    settle();
  });
  return {
    async end() {
      // A pipe holds 64 KiB, and what waits behind it ends with us. Only the end waits for all of it: an empty write is called back at once.
      await new Promise<void>((resolve) => {
        settle = resolve;
        // After a failed write the end is never called back.
        if (refusal !== null) resolve();
        else stream.end(() => resolve());
      });
      // Of a file the end is called back first, and then told that it failed.
      if (refusal === null) await setImmediate();
      return refusal;
    },
  };
}

/** Notices a server that hangs: no event of any answer comes while it is asked. */
import { MrmTraceError } from "../errors.ts";

const LOOK_MS = 100;

export interface SilenceWatch extends Disposable {
  /** Carries an error that says so, once the server has said nothing for too long. */
  readonly signal: AbortSignal;
  /** The server said something, or is asked anew. */
  heard(): void;
}

/** @param most_ms for which it may say nothing */
export function watchSilence(most_ms: number): SilenceWatch {
  const over = new AbortController();
  let heard_ms = performance.now();
  const look = setInterval(() => {
    if (performance.now() - heard_ms < most_ms) return;
    clearInterval(look);
    const hint = "see whether it hangs; where it only takes so long, give it more time with --request-timeout";
    over.abort(new MrmTraceError("target", `the server said nothing for ${most_ms / 1000} s`, hint));
  }, LOOK_MS);
  return {
    signal: over.signal,
    heard() {
      heard_ms = performance.now();
    },
    [Symbol.dispose]: () => clearInterval(look),
  };
}

/** Takes a debug register of every CPU, of all or of none. */
import type { Fd } from "../../../../kernel/libc.ts";
import { pause } from "../../../../kernel/urgent.ts";
import { openWatchpoint } from "../../../../kernel/watchpoint.ts";

/** What a register is to trap on. */
export interface WatchedBytes {
  readonly addr: bigint;
  readonly sizeBytes: number;
  /** Of WATCHPOINT. */
  readonly kind: number;
}

export type OpenResult =
  /** In the order of the CPUs, switched off. */
  | { readonly ok: true; readonly events: readonly Fd[]; readonly retries: number }
  | { readonly ok: false; readonly errno: number; readonly retries: number };

const ENOSPC = 28;
/** A register that was just closed may be counted as taken for a moment. */
const RETRY_PAUSE_MS = 0.2;

/** @param mostRetries how often to ask again, over all CPUs, where one has none free */
export function openRegister(
  { addr, sizeBytes, kind }: WatchedBytes,
  cpus: readonly number[],
  mostRetries: number,
): OpenResult {
  using opened = new DisposableStack();
  const events: Fd[] = [];
  let retries = 0;
  for (const cpu of cpus) {
    let result = openWatchpoint(addr, sizeBytes, kind, cpu);
    while (!result.ok && result.errno === ENOSPC && retries < mostRetries) {
      retries += 1;
      pause(RETRY_PAUSE_MS);
      result = openWatchpoint(addr, sizeBytes, kind, cpu);
    }
    if (!result.ok) return { ok: false, errno: result.errno, retries };
    events.push(opened.use(result.event));
  }
  opened.move();
  return { ok: true, events, retries };
}

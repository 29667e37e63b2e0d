/** How long the threads of a process waited for a CPU, those that have ended included. */
import { listProc, readProc } from "../../target/proc-file.ts";
import { parseRunDelayNs } from "../../target/proc-text.ts";

/** Reads the sum so far in ns, which only grows; null where the kernel does not tell it. */
export type RunDelay = () => bigint | null;

/** @param folder of the process in /proc */
export function createRunDelay(folder: string): RunDelay {
  let ended_ns = 0n;
  let living = new Map<string, bigint>();
  return () => {
    const now = new Map<string, bigint>();
    for (const thread of listProc(`${folder}/task`)) {
      const read = readProc(`${folder}/task/${thread}/schedstat`);
      const waited_ns = read.ok ? parseRunDelayNs(read.text) : null;
      if (waited_ns !== null) now.set(thread, waited_ns);
    }
    for (const [thread, waited_ns] of living) {
      // A number that another thread has by now counts from nothing again.
      const next_ns = now.get(thread);
      if (next_ns === undefined || next_ns < waited_ns) ended_ns += waited_ns;
    }
    living = now;
    if (now.size === 0) return null;
    return [...now.values()].reduce((sum, waited_ns) => sum + waited_ns, ended_ns);
  };
}

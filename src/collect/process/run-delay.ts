/** How long the threads of a process waited for a CPU, and what they ran themselves. */
import { listProc, readProc } from "../../target/proc-file.ts";
import { parseSchedstat } from "../../target/proc-text.ts";
import type { ThreadTime } from "./busy-threads.ts";

export interface RunDelayReading {
  /** Waiting of all threads so far, those that have ended included; it only grows. */
  readonly run_delay_ns: bigint;
  /** CPU time since the first reading of the threads that waited since then, each by its share of that waiting. */
  readonly waiter_cpu_ns: bigint;
  /** Of each thread that is alive, since the reading before; empty at the first reading. */
  readonly threads: readonly ThreadTime[];
}

/** Null where the kernel does not tell it. */
export type RunDelay = () => RunDelayReading | null;

interface Account {
  readonly ran_ns: bigint;
  readonly waited_ns: bigint;
}

/** Waiting since the first reading, and the sum of waiting times CPU time over threads. */
interface Sums {
  waited_ns: bigint;
  weighted: bigint;
}

const NOTHING: Account = { ran_ns: 0n, waited_ns: 0n };

/** A number that another thread has by now counts from nothing again. */
function since(before: Account = NOTHING, { ran_ns, waited_ns }: Account): ThreadTime {
  const same = ran_ns >= before.ran_ns && waited_ns >= before.waited_ns;
  return same ? { ran_ns: ran_ns - before.ran_ns, waited_ns: waited_ns - before.waited_ns } : { ran_ns, waited_ns };
}

/** @param folder of the process in /proc */
export function createRunDelay(folder: string): RunDelay {
  let ended_ns = 0n;
  const ended: Sums = { waited_ns: 0n, weighted: 0n };
  let living = new Map<string, Account>();
  /** What the threads of the first reading had by then; later ones began with nothing. */
  let first: Map<string, Account> | null = null;

  function add(sums: Sums, thread: string, { ran_ns, waited_ns }: Account): void {
    const begin = first?.get(thread) ?? NOTHING;
    const waited = waited_ns - begin.waited_ns;
    sums.waited_ns += waited;
    sums.weighted += waited * (ran_ns - begin.ran_ns);
  }

  return () => {
    const now = new Map<string, Account>();
    for (const thread of listProc(`${folder}/task`)) {
      const read = readProc(`${folder}/task/${thread}/schedstat`);
      const account = read.ok ? parseSchedstat(read.text) : null;
      if (account !== null) now.set(thread, account);
    }
    const threads = first === null ? [] : [...now].map(([thread, account]) => since(living.get(thread), account));
    first ??= new Map(now);
    for (const [thread, account] of living) {
      // A number that another thread has by now counts from nothing again.
      const next = now.get(thread);
      if (next !== undefined && next.waited_ns >= account.waited_ns) continue;
      ended_ns += account.waited_ns;
      add(ended, thread, account);
      first.delete(thread);
    }
    living = now;
    if (now.size === 0) return null;
    const sums = { ...ended };
    let run_delay_ns = ended_ns;
    for (const [thread, account] of now) {
      run_delay_ns += account.waited_ns;
      add(sums, thread, account);
    }
    return { run_delay_ns, waiter_cpu_ns: sums.waited_ns > 0n ? sums.weighted / sums.waited_ns : 0n, threads };
  };
}

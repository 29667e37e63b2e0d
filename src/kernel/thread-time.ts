/** Where the time of a thread goes: on a CPU, or waiting for one. */
import { readFileSync } from "node:fs";
import { addressOf } from "./foreign-memory.ts";
import { libc } from "./libc.ts";

const CLOCK_THREAD_CPUTIME_ID = 3;
const timespec = new BigInt64Array(new ArrayBuffer(16));
const timespecAt = addressOf(timespec);

/** CPU time of this thread in ns, kernel work on its behalf included. */
export function threadCpuNs(): number {
  libc.clock_gettime(CLOCK_THREAD_CPUTIME_ID, timespecAt);
  return Number(timespec[0] ?? 0n) * 1e9 + Number(timespec[1] ?? 0n);
}

/** Time in ns that a thread of this process waited on a run queue so far; 0 where the kernel does not say. */
export function runQueueWaitNs(tid: number): number {
  try {
    return Number(readFileSync(`/proc/self/task/${tid}/schedstat`, "latin1").split(" ")[1] ?? 0);
  } catch {
    return 0;
  }
}

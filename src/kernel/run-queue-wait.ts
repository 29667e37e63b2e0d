/** How long a thread of this process stood behind others that had the CPUs. */
import { readFileSync } from "node:fs";

/** Time in ns that a thread of this process waited on a run queue so far; 0 where the kernel does not say. */
export function runQueueWaitNs(tid: number): number {
  try {
    return Number(readFileSync(`/proc/self/task/${tid}/schedstat`, "latin1").split(" ")[1] ?? 0);
  } catch {
    return 0;
  }
}

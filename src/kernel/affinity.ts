/** Binds processes to CPUs. */
import { readdirSync } from "node:fs";
import { addressOf, stableBytes } from "./foreign-memory.ts";
import { libc } from "./libc.ts";

function tidsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    // The process has ended: there is nothing to bind.
    return [];
  }
}

/** Binds every thread of a process, and so what it starts later, to these CPUs; false where one could not be bound. */
export function bindProcess(pid: number, cpus: readonly number[]): boolean {
  const mask = stableBytes(1024);
  for (const cpu of cpus) mask[cpu >> 3] = (mask[cpu >> 3] ?? 0) | (1 << (cpu & 7));
  const tids = tidsOf(pid);
  const bound = tids.filter((tid) => libc.sched_setaffinity(tid, mask.length, addressOf(mask)) === 0);
  return tids.length > 0 && bound.length === tids.length;
}

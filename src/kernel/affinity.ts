/** Binds threads and processes to CPUs. */
import { readdirSync } from "node:fs";
import { addressOf, stableBytes } from "./foreign-memory.ts";
import { libc } from "./libc.ts";

const MASK_BYTES = 1024;

function tidsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    // The process has ended: there is nothing to bind.
    return [];
  }
}

/** Binds one thread to these CPUs; false where the kernel refuses it. */
export function bindThread(tid: number, cpus: readonly number[]): boolean {
  const mask = stableBytes(MASK_BYTES);
  for (const cpu of cpus) mask[cpu >> 3] = (mask[cpu >> 3] ?? 0) | (1 << (cpu & 7));
  return libc.sched_setaffinity(tid, MASK_BYTES, addressOf(mask)) === 0;
}

/** Binds every thread of a process, and so what it starts later, to these CPUs; false where one could not be bound. */
export function bindProcess(pid: number, cpus: readonly number[]): boolean {
  const tids = tidsOf(pid);
  const bound = tids.filter((tid) => bindThread(tid, cpus));
  return tids.length > 0 && bound.length === tids.length;
}

/** Keeps this thread off a CPU until it is disposed of, where it may run on others. */
export function keptOff(cpu: number): Disposable {
  const before = stableBytes(MASK_BYTES);
  libc.sched_getaffinity(0, MASK_BYTES, addressOf(before));
  const others = stableBytes(MASK_BYTES);
  others.set(before);
  others[cpu >> 3] = (before[cpu >> 3] ?? 0) & ~(1 << (cpu & 7));
  // Of no CPU at all the kernel refuses it, and nothing changes.
  libc.sched_setaffinity(0, MASK_BYTES, addressOf(others));
  return { [Symbol.dispose]: () => void libc.sched_setaffinity(0, MASK_BYTES, addressOf(before)) };
}

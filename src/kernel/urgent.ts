/**
 * Short work during which nobody takes our CPU: who waits for a lock of the target that we hold would wait for that, too.
 * On a busy machine a look of 1 us was preempted while it held the lock of the map, for up to 33 ms.
 */
import { addressOf, stableBytes } from "./foreign-memory.ts";
import { libc } from "./libc.ts";

const SCHED_FIFO = 1;
/** SCHED_OTHER, SCHED_BATCH and SCHED_IDLE: what has a priority of its own is left alone. */
const PREEMPTED = [0, 3, 5];

const parameter = (priority: number): Uint8Array<ArrayBuffer> => {
  const bytes = stableBytes(4);
  new DataView(bytes.buffer).setInt32(0, priority, true);
  return bytes;
};
const lowest = parameter(1);
const none = parameter(0);
let policy: number | null = null;
let isUrgent = false;

/**
 * Does it at the lowest real-time priority, where that is allowed, and as before where it is not. At its end others may
 * take the CPU: looks that come together are one work, and none is timed around it.
 */
export function urgently<T>(work: () => T): T {
  if (isUrgent) return work();
  policy ??= libc.sched_getscheduler(0);
  const raised = PREEMPTED.includes(policy) && libc.sched_setscheduler(0, SCHED_FIFO, addressOf(lowest)) === 0;
  isUrgent = true;
  try {
    return work();
  } finally {
    isUrgent = false;
    if (raised) libc.sched_setscheduler(0, policy, addressOf(none));
  }
}

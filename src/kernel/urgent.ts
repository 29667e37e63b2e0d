/**
 * When we have a CPU. Short work goes on before anybody else takes it: who waits for a lock of the target that we hold would wait for that, too;
 * on a busy machine a look of 1 us was preempted while it held the lock of the map, for up to 33 ms. And who comes round to watches has one soon
 * after waking, and leaves it at once.
 */
import { addressOf, stableBytes } from "./foreign-memory.ts";
import { libc } from "./libc.ts";

/** sched_setattr(2), sched_getattr(2): x86-64, arm64. */
const [SYS_SETATTR, SYS_GETATTR] = process.arch === "arm64" ? [274, 275] : [314, 315];
const [SCHED_OTHER, SCHED_FIFO] = [0, 1];
/** SCHED_OTHER, SCHED_BATCH and SCHED_IDLE: what has a priority of its own is left alone. */
const PREEMPTED = [SCHED_OTHER, 3, 5];
/** SCHED_RESET_ON_FORK, as part of a policy: what begins meanwhile has none of the priority. */
const RESET_ON_FORK = 0x40000000;
/** The same among the flags of struct sched_attr. */
const FLAG_RESET_ON_FORK = 1n;
/** struct sched_attr of Linux 4.0: size and policy u32, flags u64, nice i32, then what other policies have. */
const ATTR_BYTES = 48;
const [POLICY, FLAGS, NICE, RUNTIME] = [4, 8, 16, 24];
/** Nine times the weight of a program: woken, it goes before one, and on to a CPU without work where there is one (kernel/sched/core.c). */
const PROMPT_NICE = -10;
/**
 * The shortest that there is. Since Linux 6.12 a program is not disturbed for the 3 ms of its slice but by one that asks for shorter ones, and keeps
 * these for itself before (PREEMPT_SHORT, kernel/sched/fair.c).
 */
const PROMPT_SLICE_NS = 100_000n;

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
  const resets = policy & RESET_ON_FORK;
  const raised =
    PREEMPTED.includes(policy - resets) && libc.sched_setscheduler(0, SCHED_FIFO + resets, addressOf(lowest)) === 0;
  isUrgent = true;
  try {
    return work();
  } finally {
    isUrgent = false;
    if (raised) libc.sched_setscheduler(0, policy, addressOf(none));
  }
}

export interface Promptness extends Disposable {
  /** True where this thread has a CPU soon after it wakes. */
  readonly isPrompt: boolean;
  /** True where the kernel refuses it; false where the user wants another priority. */
  readonly isRefused: boolean;
}

/**
 * Lets this thread have a CPU soon after it wakes, before programs of usual priority, until it is disposed of. Threads and children that begin
 * meanwhile are as usual. Who was given a priority of his own by the user keeps it.
 */
export function promptly(): Promptness {
  const bytes = stableBytes(ATTR_BYTES);
  const attr = new DataView(bytes.buffer);
  const set = (nice: number, sliceNs: bigint, flags: bigint): boolean => {
    attr.setInt32(NICE, nice, true);
    attr.setBigUint64(RUNTIME, sliceNs, true);
    attr.setBigUint64(FLAGS, flags, true);
    // It is asked for again: it has the flag or has it no more.
    policy = null;
    return libc.syscall(SYS_SETATTR, 0, addressOf(bytes), 0, 0, 0, 0) === 0n;
  };
  const usual = (isRefused: boolean): Promptness => ({ isPrompt: false, isRefused, [Symbol.dispose]: () => {} });
  if (libc.syscall(SYS_GETATTR, 0, addressOf(bytes), ATTR_BYTES, 0, 0, 0) !== 0n) return usual(true);
  if (attr.getUint32(POLICY, true) !== SCHED_OTHER || attr.getInt32(NICE, true) !== 0) return usual(false);
  const [sliceNs, flags] = [attr.getBigUint64(RUNTIME, true), attr.getBigUint64(FLAGS, true)];
  if (!set(PROMPT_NICE, PROMPT_SLICE_NS, flags | FLAG_RESET_ON_FORK)) return usual(true);
  return { isPrompt: true, isRefused: false, [Symbol.dispose]: () => void set(0, sliceNs, flags) };
}

/** Nobody writes to it: who waits for it rests. */
const pauseWord = new Int32Array(new SharedArrayBuffer(4));

/** Rests as long, parts of a ms too, without a turn of the event loop. */
export function pause(ms: number): void {
  if (ms > 0) Atomics.wait(pauseWord, 0, 0, ms);
}

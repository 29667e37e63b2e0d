/** How this process stands behind others: on the CPU, at the disk, and when memory runs out. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { libc } from "../kernel/libc.ts";

const IS_ARM64 = process.arch === "arm64";
const SYS_SETPRIORITY = IS_ARM64 ? 140 : 141;
const SYS_IOPRIO_SET = IS_ARM64 ? 30 : 251;
/** PRIO_PROCESS and IOPRIO_WHO_PROCESS: both take the number of a thread. */
const PRIO_PROCESS = 0;
const IOPRIO_WHO_PROCESS = 1;
const BEST_EFFORT = 2 << 13;
const LOWEST_OF_IT = 7;
const NICE = 10;
/** The highest of the kernel: such a process goes before one that has all memory. */
const FIRST_TO_DIE = 1000;
const ADJUSTMENT = "/proc/self/oom_score_adj";

/** What could not be lowered, in words; empty where all was. */
export type Refusals = readonly string[];

/** Makes this process the one that the kernel kills first where memory runs out. Its children inherit that. */
export function dieFirst(): Refusals {
  try {
    if (Number(readFileSync(ADJUSTMENT, "latin1")) < FIRST_TO_DIE) writeFileSync(ADJUSTMENT, String(FIRST_TO_DIE));
    return [];
  } catch (cause) {
    return [`${ADJUSTMENT} cannot be raised: ${cause instanceof Error ? cause.message : String(cause)}`];
  }
}

/** Lets others go first on the CPU and at the disk: nice 10, and the last place of best-effort I/O, for every thread. */
export function stepBack(): Refusals {
  const refused = new Set<string>();
  const done = new Set<number>();
  // A thread that was not yet asked may start another meanwhile, which inherits what that one has.
  for (let found = -1; found !== done.size; ) {
    found = done.size;
    for (const name of readdirSync("/proc/self/task")) {
      const tid = Number(name);
      if (!done.has(tid)) lower(tid, refused);
      done.add(tid);
    }
  }
  return [...refused];
}

function lower(tid: number, refused: Set<string>): void {
  const nice = niceOf(tid);
  if (nice === null) return;
  // A user may have asked for less than that.
  if (nice < NICE && libc.syscall(SYS_SETPRIORITY, PRIO_PROCESS, tid, NICE, 0, 0, 0) < 0) {
    refused.add("the priority of a thread cannot be lowered");
  }
  if (libc.syscall(SYS_IOPRIO_SET, IOPRIO_WHO_PROCESS, tid, BEST_EFFORT | LOWEST_OF_IT, 0, 0, 0) < 0) {
    refused.add("the I/O priority of a thread cannot be lowered");
  }
}

/** Nice value of a thread; null once it has ended. */
function niceOf(tid: number): number | null {
  try {
    const stat = readFileSync(`/proc/self/task/${tid}/stat`, "latin1");
    // The name in parentheses may hold anything; nice is the 17th field behind it.
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]);
  } catch {
    return null;
  }
}

/** Finds the processes of a tree in /proc. */
import { listProc, readProc } from "./proc-file.ts";
import { statIn } from "./proc-stat.ts";
import { isOver, parseChildren, parseStat } from "./proc-text.ts";

/** Parent of every process in /proc: dear, for kernels without CONFIG_PROC_CHILDREN. */
function parents(procRoot: string): Map<number, number> {
  const parentOf = new Map<number, number>();
  for (const name of listProc(procRoot)) {
    if (!/^\d{1,9}$/.test(name)) continue;
    const stat = statIn(`${procRoot}/${name}`);
    if (stat !== null) parentOf.set(Number(name), stat.ppid);
  }
  return parentOf;
}

/** True where the kernel lists children per thread (CONFIG_PROC_CHILDREN). */
export function listsChildren(procRoot: string): boolean {
  return readProc(`${procRoot}/self/task/${process.pid}/children`).ok;
}

/**
 * Pids of `roots` and of all their descendants, found at once; a process may end while we look.
 * @param byThread use the children lists of threads, else scan the parents of all processes
 */
export function descendants(procRoot: string, roots: Iterable<number>, byThread: boolean): Set<number> {
  const found = new Set(roots);
  if (byThread) {
    // A Set iterates over what is added on the way, so grandchildren are visited too.
    for (const pid of found) {
      for (const tid of listProc(`${procRoot}/${pid}/task`)) {
        const read = readProc(`${procRoot}/${pid}/task/${tid}/children`);
        if (read.ok) for (const child of parseChildren(read.text).pids) found.add(child);
      }
    }
    return found;
  }
  const parentOf = parents(procRoot);
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const [pid, ppid] of parentOf) if (found.has(ppid)) found.add(pid);
  }
  return found;
}

/** Pids of `root` and of all its descendants, in the way that the kernel offers. */
export function treeOf(root: number, procRoot = "/proc"): Set<number> {
  return descendants(procRoot, [root], listsChildren(procRoot));
}

/** True for a process that is gone, or waits for its parent to take note of its end. */
export function hasEnded(pid: number): boolean {
  const stat = readProc(`/proc/${pid}/stat`);
  if (!stat.ok) return true;
  const parsed = parseStat(stat.text);
  return parsed !== null && isOver(parsed);
}

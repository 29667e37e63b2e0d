/** A process tree that may run while we come to it: every process of it is watched. */
import { descendants, hasEnded, listsChildren } from "../../../target/tree.ts";
import type { LifecycleSource } from "./lifecycle.ts";

/**
 * Watches `root` and all that descend from it, looking again until nothing is new: a process may fork until the kernel
 * knows it, and what it forks from then on is followed there.
 * @returns the processes that live, without `root` where it has ended
 */
export function watchTree(root: number, lifecycle: LifecycleSource): number[] {
  const byThread = listsChildren("/proc");
  const watched = new Set<number>();
  for (let fresh = [root]; fresh.length > 0; ) {
    for (const pid of fresh) if (lifecycle.addProcess(pid)) watched.add(pid);
    fresh = [...descendants("/proc", [root, ...watched], byThread)].filter(
      (pid) => !lifecycle.watches(pid) && !hasEnded(pid),
    );
  }
  // The end of each is seen from now on; what ended before is told by nobody.
  for (const pid of watched) {
    if (!hasEnded(pid)) continue;
    lifecycle.dropProcess(pid);
    watched.delete(pid);
  }
  return [...watched];
}

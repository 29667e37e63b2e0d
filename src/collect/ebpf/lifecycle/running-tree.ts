/** A process tree that may run while we come to it: every process of it is watched, and every CPU that it may use is known. */
import { readdirSync } from "node:fs";
import { affinityCpus } from "../../../kernel/libc.ts";
import { descendants, hasEnded, listsChildren, treeOf } from "../../../target/tree.ts";
import type { EngineObjects } from "../engine/engine-objects.ts";
import type { LifecycleSource } from "./lifecycle.ts";
import { snapshotRows } from "./maps-look.ts";

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

function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    // It has ended: it needs no CPU any more.
    return [];
  }
}

/** CPUs that any thread of the tree may run on; empty where nobody says. */
export function treeAffinityCpus(root: number): number[] {
  return [...new Set([...treeOf(root)].flatMap(threadsOf).flatMap(affinityCpus))].sort((a, b) => a - b);
}

/** Offers what the tree has mapped by now, so that its engine is probed before the first of its steps is asked for. */
export async function offerMapped(objects: EngineObjects | null, root: number): Promise<void> {
  for (const pid of treeOf(root)) {
    await objects?.offer(snapshotRows(pid, 0) ?? []);
  }
}

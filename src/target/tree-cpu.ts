/** CPU time of a process tree, those of it that have ended included. */
import { statIn } from "./proc-stat.ts";
import { treeOf } from "./tree.ts";

/**
 * Clock ticks that the tree of `root` has had so far. What ended is in the ticks that its parent reaped: the sum only grows,
 * but for processes that leave the tree when their parent dies.
 */
export function treeTicks(root: number, procRoot = "/proc"): number {
  let ticks = 0n;
  for (const pid of treeOf(root, procRoot)) {
    const stat = statIn(`${procRoot}/${pid}`);
    if (stat !== null) ticks += stat.user_ticks + stat.system_ticks + stat.reaped_ticks;
  }
  return Number(ticks);
}

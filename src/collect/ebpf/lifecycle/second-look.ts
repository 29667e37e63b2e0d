/** The second way to learn what became of a tree, for what no record and no table tells: /proc. */
import type { ProcessTree } from "../../../target/process-tree.ts";
import { hasEnded } from "../../../target/tree.ts";

/** How often the tree is looked at. */
const LOOK_NS = 1_000_000_000n;
/** Processes that one look asks /proc about, 20 us each; the next look asks about others. */
const MOST_ASKED = 64;

export interface SecondLook {
  /** True once the next look may be made; looking begins the wait for the one after it. */
  isDue(now_ns: bigint): boolean;
  /**
   * Processes of the tree that have ended by now. Asked before the records are read: who still lives by those has ended
   * without a record.
   */
  ended(now_ns: bigint): Set<number>;
}

export function secondLook(tree: ProcessTree): SecondLook {
  let last_ns = 0n;
  let asked = 0;
  return {
    isDue: (now_ns) => now_ns - last_ns >= LOOK_NS,
    ended(now_ns) {
      last_ns = now_ns;
      const living = tree.living();
      const gone = new Set<number>();
      // The program that sees ends takes who ended off the table; where the kernel skipped it, /proc alone knows.
      for (let i = 0; i < Math.min(MOST_ASKED, living.length); i++) {
        const pid = living[asked++ % living.length];
        if (pid !== undefined && hasEnded(pid)) gone.add(pid);
      }
      return gone;
    },
  };
}

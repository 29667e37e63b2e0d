/**
 * Whose maps are looked at once more, after a time in which what was under way has ended: calls of several threads, a fork and
 * a look at the same moment can be told in an order that they did not have, and a look then stands beside what changed it.
 */

const SETTLED_NS = 500_000_000n;

export interface SettledLooks {
  /** Notes that the map of a process was in doubt at that moment. */
  doubted(pid: number, now_ns: bigint): void;
  /** Takes those off the list that live and have been in no doubt for half a second. */
  take(now_ns: bigint, lives: (pid: number) => boolean): number[];
}

export function settledLooks(): SettledLooks {
  /** In the order of time: who is doubted again goes to the end. */
  const since_ns = new Map<number, bigint>();
  return {
    doubted(pid, now_ns) {
      since_ns.delete(pid);
      since_ns.set(pid, now_ns);
    },
    take(now_ns, lives) {
      const due: number[] = [];
      for (const [pid, doubted_ns] of since_ns) {
        if (now_ns - doubted_ns < SETTLED_NS) break;
        since_ns.delete(pid);
        if (lives(pid)) due.push(pid);
      }
      return due;
    },
  };
}

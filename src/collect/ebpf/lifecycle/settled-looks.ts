/**
 * Whose maps are looked at once more, after a time in which what was under way has ended: calls of several threads, a fork and
 * a look at the same moment can be told in an order that they did not have, and a look then stands beside what changed it.
 */

const SETTLED_NS = 500_000_000n;
/** A process that is never still is looked at ever more rarely, down to this. */
const MOST_WAIT_NS = 64_000_000_000n;

export interface SettledLooks {
  /** Notes that the map of a process was in doubt at that moment. */
  doubted(pid: number, now_ns: bigint): void;
  /** Notes that calls of a process were under way when it was looked at, which may have been the last look. */
  disturbed(pid: number, now_ns: bigint): void;
  /** Takes those off the list that live and whose time has come: half a second after the last doubt, or more. */
  take(now_ns: bigint, lives: (pid: number) => boolean): number[];
}

interface Wait {
  /** When to look; null once that was asked for. */
  due_ns: bigint | null;
  /** Between the last disturbed look and the one after it. */
  wait_ns: bigint;
  since_ns: bigint;
}

export function settledLooks(): SettledLooks {
  const waits = new Map<number, Wait>();
  return {
    doubted(pid, now_ns) {
      waits.set(pid, { due_ns: now_ns + SETTLED_NS, wait_ns: waits.get(pid)?.wait_ns ?? SETTLED_NS, since_ns: now_ns });
    },
    disturbed(pid, now_ns) {
      const before = waits.get(pid);
      if (before?.due_ns != null) return;
      const isAgain = before !== undefined && now_ns - before.since_ns < 3n * before.wait_ns;
      const longer_ns = isAgain ? 2n * before.wait_ns : SETTLED_NS;
      const wait_ns = longer_ns < MOST_WAIT_NS ? longer_ns : MOST_WAIT_NS;
      waits.set(pid, { due_ns: now_ns + wait_ns, wait_ns, since_ns: now_ns });
    },
    take(now_ns, lives) {
      const due: number[] = [];
      for (const [pid, wait] of waits) {
        const { due_ns, wait_ns, since_ns } = wait;
        if (due_ns === null ? now_ns - since_ns >= 3n * wait_ns : now_ns >= due_ns && !lives(pid)) waits.delete(pid);
        else if (due_ns !== null && now_ns >= due_ns) {
          wait.due_ns = null;
          due.push(pid);
        }
      }
      return due;
    },
  };
}

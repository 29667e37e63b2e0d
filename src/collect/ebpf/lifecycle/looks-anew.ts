/** Whose maps are to be looked at anew, and when: a look takes 0.1 ms and more, and may hold a lock of the process. */

/** Looks in one drain. */
const MOST_AT_ONCE = 16;
/** A process is looked at again only after this time, and not for more than a twentieth of it up to a second. */
const LEAST_PAUSE_NS = 50_000_000n;
const PAUSE_PER_LOOK = 20n;
const MOST_PAUSE_NS = 1_000_000_000n;

export interface LooksAnew {
  ask(pid: number): void;
  /** True while it waits for a look. */
  isAsked(pid: number): boolean;
  /** Notes a look, whoever asked for it. */
  looked(pid: number, begin_ns: bigint, end_ns: bigint): void;
  forget(pid: number): void;
  /** True while somebody waits for a look. */
  waits(): boolean;
  /** Takes those whose time has come off the list. */
  take(now_ns: bigint): number[];
}

export function looksAnew(): LooksAnew {
  const asked = new Set<number>();
  const notBefore_ns = new Map<number, bigint>();
  return {
    ask: (pid) => void asked.add(pid),
    isAsked: (pid) => asked.has(pid),
    looked(pid, begin_ns, end_ns) {
      const fair_ns = PAUSE_PER_LOOK * (end_ns - begin_ns);
      const pause_ns = fair_ns > MOST_PAUSE_NS ? MOST_PAUSE_NS : fair_ns;
      notBefore_ns.set(pid, end_ns + (pause_ns > LEAST_PAUSE_NS ? pause_ns : LEAST_PAUSE_NS));
    },
    forget(pid) {
      asked.delete(pid);
      notBefore_ns.delete(pid);
    },
    waits: () => asked.size > 0,
    take(now_ns) {
      const due: number[] = [];
      for (const pid of asked) {
        if (due.length === MOST_AT_ONCE) break;
        if ((notBefore_ns.get(pid) ?? 0n) <= now_ns) due.push(pid);
      }
      for (const pid of due) asked.delete(pid);
      return due;
    },
  };
}

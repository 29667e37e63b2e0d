/** The process tree of a recording: who belongs to it and who of them lives. One feeds it, all others read it. */

export interface ProcessTree {
  /**
   * A process began, or was found; its number may have been that of one that has ended.
   * @param lender whose memory it lives in until its exec (vfork, posix_spawn); none where it has its own
   */
  begin(pid: number, lender?: number): void;
  /** It runs another program, in memory of its own. */
  exec(pid: number): void;
  end(pid: number): void;
  /** True while it lives in the memory of another process, which has it already. */
  isGuest(pid: number): boolean;
  lives(pid: number): boolean;
  /** Processes that have begun and not ended. */
  living(): number[];
  /** Every process that belonged to it so far, in the order in which they began. */
  pids(): number[];
  /** True once processes belonged to it and all of them have ended. */
  hasEnded(): boolean;
}

/** An empty tree. */
export function createProcessTree(): ProcessTree {
  const everSeen = new Set<number>();
  const living = new Set<number>();
  const lenders = new Map<number, number>();

  /** A process leaves the memory that it lived in: of those that have it still, the first is no guest any more. */
  function leave(pid: number): void {
    lenders.delete(pid);
    const guests = [...lenders].filter(([, lender]) => lender === pid).map(([guest]) => guest);
    const [heir] = guests;
    if (heir === undefined) return;
    for (const guest of guests) lenders.set(guest, heir);
    lenders.delete(heir);
  }

  return {
    begin(pid, lender) {
      everSeen.add(pid);
      living.add(pid);
      leave(pid);
      if (lender !== undefined) lenders.set(pid, lenders.get(lender) ?? lender);
    },
    exec: leave,
    end(pid) {
      living.delete(pid);
      leave(pid);
    },
    isGuest: (pid) => lenders.has(pid),
    lives: (pid) => living.has(pid),
    living: () => [...living],
    pids: () => [...everSeen],
    hasEnded: () => everSeen.size > 0 && living.size === 0,
  };
}

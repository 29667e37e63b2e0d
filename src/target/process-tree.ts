/** The process tree of a recording: who belongs to it and who of them lives. One feeds it, all others read it. */

export interface ProcessTree {
  /** A process began, or was found; its number may have been that of one that has ended. */
  begin(pid: number): void;
  end(pid: number): void;
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
  return {
    begin(pid) {
      everSeen.add(pid);
      living.add(pid);
    },
    end(pid) {
      living.delete(pid);
    },
    lives: (pid) => living.has(pid),
    living: () => [...living],
    pids: () => [...everSeen],
    hasEnded: () => everSeen.size > 0 && living.size === 0,
  };
}

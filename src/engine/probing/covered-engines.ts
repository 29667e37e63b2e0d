/** Engines that another one in the same process is built on: what they tell there is told by that one already. */

export interface CoveredEngines {
  /** Of a process, from now on. */
  cover(pid: number, engines: readonly string[]): void;
  has(pid: number, engine: string): boolean;
  /** The process is gone; what it told before its end may not have been read yet, so that this stays until `letGo`. */
  forget(pid: number): void;
  /** Lets go of processes that are gone, once all that they told was read. */
  letGo(): void;
  /** True where a process of that number is gone, and not all that it told was read. */
  isLeaving(pid: number): boolean;
}

export function coveredEngines(): CoveredEngines {
  const byPid = new Map<number, Set<string>>();
  const gone = new Set<number>();
  return {
    cover(pid, engines) {
      if (engines.length === 0) return;
      byPid.set(pid, new Set([...(byPid.get(pid) ?? []), ...engines]));
    },
    has: (pid, engine) => byPid.get(pid)?.has(engine) === true,
    forget: (pid) => void gone.add(pid),
    letGo() {
      for (const pid of gone) byPid.delete(pid);
      gone.clear();
    },
    isLeaving: (pid) => gone.has(pid),
  };
}

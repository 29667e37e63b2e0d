/** On which CPUs the target may run by now: what it does where no register is nobody sees. */
import type { WatchMachine } from "../watch-machine.ts";

export interface CpusOfTarget {
  /** CPUs on which the target may run by now and that are not among these; none where it is absent. */
  readonly cpusBeside?: (cpus: readonly number[]) => readonly number[];
  /** Those of these CPUs that are off line, where nobody runs; none where it is absent. */
  readonly cpusOffline?: (cpus: readonly number[]) => readonly number[];
}

/** CPUs that came, and up to when the target was on those that have registers. */
export interface MoreCpus {
  readonly cpus: readonly number[];
  readonly insideNs: bigint;
}

export interface FollowedCpus {
  isDue(nowNs: bigint): boolean;
  /** Leaves out those that are off line; gives those that came, null where none did. */
  look(): MoreCpus | null;
}

/** Threads are asked for their CPUs after so many times as long as that took, as there may be many: meanwhile rows wait. */
const CPUS_REST = 200n;

/**
 * A thread may be allowed on more CPUs than when watching began, as where a command picks those of the program that it then begins: what it did
 * there since it was last asked for came to no register.
 * One that is off line is left out until it is back: then it is such a CPU, as what it held in between is gone.
 */
export function followCpus(
  { cpus, narrow, nowNs }: Pick<WatchMachine, "cpus" | "narrow" | "nowNs">,
  { cpusBeside, cpusOffline }: CpusOfTarget,
): FollowedCpus {
  let insideNs = nowNs();
  let dueNs = insideNs;
  return {
    isDue: (now_ns) => now_ns >= dueNs,
    look() {
      const beganNs = nowNs();
      const offline = cpusOffline?.(cpus) ?? [];
      const more = cpusBeside?.(cpus) ?? [];
      // To give registers back takes longer than to ask, and comes seldom.
      dueNs = beganNs + CPUS_REST * (nowNs() - beganNs);
      if (offline.length > 0 && offline.length < cpus.length) narrow(offline);
      const wereInsideNs = insideNs;
      insideNs = beganNs;
      return more.length > 0 ? { cpus: more, insideNs: wereInsideNs } : null;
    },
  };
}

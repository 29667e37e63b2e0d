/** Looks at another process that hold a lock of its address space: how often, and for how long at most. */
import { monotonicNs } from "./libc.ts";

/** Takes one look, and its time: the lock is held for less than that. */
export type Look = <T>(look: () => T) => T;

export interface LookSum {
  /** As the report names them. */
  readonly what: string;
  readonly count: number;
  readonly ns: number;
  /** True where they wait for the budget when it is spent. */
  readonly waits: boolean;
}

export interface Looks {
  /** Looks of one kind. @param waits true where they wait for the budget when it is spent */
  kind(what: string, waits?: boolean): Look;
  /** Time of all looks so far. */
  readonly ns: number;
  sums(): LookSum[];
}

/** For who counts no looks. */
export const UNCOUNTED: Look = (look) => look();

export function countLooks(): Looks {
  const kinds = new Map<string, { count: number; ns: number; readonly waits: boolean }>();
  let allNs = 0;
  return {
    kind(what, waits = false) {
      const sum = kinds.get(what) ?? { count: 0, ns: 0, waits };
      kinds.set(what, sum);
      return (look) => {
        const beginNs = monotonicNs();
        try {
          return look();
        } finally {
          const took = Number(monotonicNs() - beginNs);
          sum.count += 1;
          sum.ns += took;
          allNs += took;
        }
      };
    },
    get ns() {
      return allNs;
    },
    sums: () => [...kinds].map(([what, sum]) => ({ what, ...sum })),
  };
}

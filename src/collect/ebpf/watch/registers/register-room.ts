/** How many debug registers watching may hold, while others may hold some too. */
import { listTracers, probeRegisters } from "../free-registers.ts";
import type { WatchSummary } from "../watch-summary.ts";

export interface RegisterRoom {
  /** Registers that watching may hold on every CPU now. */
  readonly count: number;
  /** Takes note that none could be had beside the `held` ones, and of who may have taken them. */
  miss(held: number, nowNs: bigint): void;
  /** Counts them again where some were missing and it is time; true where it did, which costs as much as a retarget. */
  lookAgain(held: number, nowNs: bigint): boolean;
  summary(): WatchSummary["registers"];
}

export interface RegisterWishes {
  readonly cpus: readonly number[];
  /** Registers to use on each CPU at most. */
  readonly most: number;
  /** Those of them that there is something for. */
  readonly wanted: number;
}

/** After registers were missing, how long until they are counted again. */
const AGAIN_NS = 1_000_000_000n;

/** Counts the registers that are free now. */
export function registerRoom({ cpus, most, wanted }: RegisterWishes, nowNs: bigint): RegisterRoom {
  const free_at_start = probeRegisters(cpus, most).count;
  let count = free_at_start;
  let least = free_at_start;
  let candidates = free_at_start < most ? listTracers() : [];
  let againNs = nowNs + AGAIN_NS;
  return {
    get count() {
      return count;
    },
    miss(held, nowNs) {
      count = held;
      least = Math.min(least, held);
      candidates = listTracers();
      againNs = nowNs + AGAIN_NS;
    },
    lookAgain(held, nowNs) {
      if (count >= most || nowNs < againNs) return false;
      againNs = nowNs + AGAIN_NS;
      count = held + probeRegisters(cpus, most - held).count;
      return true;
    },
    summary: () => ({ wanted, free_at_start, least, candidates }),
  };
}

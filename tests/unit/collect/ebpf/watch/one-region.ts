/** A policy that watches the words of one region, of which nobody knows what it is. */
import type { DrawRegion } from "../../../../../src/collect/ebpf/watch/draw.ts";
import type { WatchOptions } from "../../../../../src/collect/ebpf/watch/watch.ts";
import { addrOf, PID } from "../../../../../src/simulate/machine.ts";
import { USUAL_POLICY } from "../../../../../src/simulate/world.ts";

/** The region of so many words of 8 bytes. */
export const regionOf = (words: number): DrawRegion => ({
  ...{ pid: PID, addr: addrOf(0, 0), size_bytes: 8 * words, stratum: "unknown/anon" },
  region_type: "unknown",
  tensor: null,
});

/** What watching these regions asks for, by the usual policy. */
export const watchingOf = (regions: readonly DrawRegion[]): WatchOptions => ({
  regions: () => regions,
  tokenPeriodNs: () => null,
  rowsAhead: () => [],
  budgetPct: USUAL_POLICY.budget_pct,
  registers: 4,
  seed: 1,
  affinityCpus: [],
});

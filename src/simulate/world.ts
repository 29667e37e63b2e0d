/** A world: memory of which every access is known, in strata that are drawn from as the policy draws. */
import type { StepSample } from "../analyse/input/input.ts";
import type { RegionType } from "../schema/words.ts";
import type { Random } from "../statistics/prng.ts";

/** Accesses of one 8-byte word over the whole run, in order of time. */
export interface WordTrace {
  readonly time_ns: Float64Array;
  /** Values of OP. */
  readonly op: Uint8Array;
  /** On which CPU each is made, by a thread of its own there; all on CPU 0 where absent. */
  readonly cpu?: Uint8Array;
  /** When its bytes were freed; not in the run where absent. */
  readonly freed_ns?: number;
}

/** How a KV cache lies in rows, of which each token of the steps writes the next one. */
export interface CacheRows {
  /** Words of a row; rows lie one after the other. */
  readonly words: number;
  /** The row that the first token of the first step writes: those before were there. */
  readonly first: number;
  /** Sequences whose tokens share the cache, at a moment where they change: of several no single row is the next. */
  readonly sequences: number | ((now_ns: number) => number);
}

export interface WorldStratum {
  readonly stratum: string;
  readonly region_type: RegionType;
  readonly words: readonly WordTrace[];
  /** Turns that it gets beside a stratum with 1; those of its class where it is absent. */
  readonly turns?: number;
  /** Strata of one place lie at the same addresses, one after the other; each at its own where it is absent. */
  readonly place?: number;
  /** When its memory comes and goes, ns: there are no accesses outside. In the whole run where it is absent. */
  readonly life_ns?: readonly [born: number, freed: number];
  /** How often all of the words stand in its memory, one series after the other; once where it is absent. */
  readonly repeats?: number;
  /** True where its memory is a file that was mapped in the run, and never with the right to write. */
  readonly is_sealed?: boolean;
  /** Of a KV cache that the engine fills row by row: its strata are named as `stratumOf` names them, and have no repeats. */
  readonly rows?: CacheRows;
}

/** What the tracer may spend, and what it pays for: as `--budget` says and as a start calibrates. */
export interface Policy {
  /** Share of each CPU, in percent. */
  readonly budget_pct: number;
  readonly trap_ns: number;
  /** Arming and disarming one register. */
  readonly retarget_ns: number;
  /** True where the whole budget and a part of it hold by turns. */
  readonly by_turns?: boolean;
}

/** The default of --budget, and the costs of a virtual machine. */
export const USUAL_POLICY: Policy = { budget_pct: 1, trap_ns: 16_000, retarget_ns: 60_000 };

/** One run of a world. */
export interface World {
  readonly run_ns: number;
  /** CPUs on which its accesses are made; one where absent. */
  readonly cpus?: number;
  /** What the policy believes a token takes, by the moment where that changes; null without a token axis. */
  readonly token_period_ns: number | null | ((now_ns: number) => number);
  readonly steps: readonly StepSample[];
  readonly strata: readonly WorldStratum[];
  /** True where the engine that tells the steps names its tensors too, which is all of the memory but `unknown` and `runtime`. */
  readonly is_named?: boolean;
  /** Times at which the tracer does nothing for a while: [begin, end). */
  readonly stopped_ns?: readonly (readonly [number, number])[];
  /** Times at which the ring keeps no trap: [begin, end), ascending. */
  readonly lost_ns?: readonly (readonly [number, number])[];
  /** How much later the tracer hears of memory that comes or goes; at its next look where it is absent. */
  readonly map_lag_ns?: number;
  /** Time that it spends on copies and fills where there are no watches, as a share by its moment, and how many times as long these take beside one. */
  readonly copies?: { readonly shareAt: (ns: number) => number; readonly times: number };
  /** How long the program stands still at each arming, in the mean; it does not where absent. What is true is of the program as it went. */
  readonly standstill_ns?: number;
}

/** A kind of world; the seed decides everything in it. */
export interface WorldKind {
  readonly name: string;
  readonly make: (random: Random) => World;
}

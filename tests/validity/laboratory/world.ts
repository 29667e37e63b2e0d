/** A world: memory of which every access is known, in strata that are drawn from as the policy draws. */
import type { StepSample } from "../../../src/analyse/input/input.ts";
import type { RegionType } from "../../../src/schema/words.ts";
import type { Random } from "../../../src/statistics/prng.ts";

/** Accesses of one 8-byte word over the whole run, in order of time. */
export interface WordTrace {
  readonly time_ns: Float64Array;
  /** Values of OP. */
  readonly op: Uint8Array;
}

export interface WorldStratum {
  readonly stratum: string;
  readonly region_type: RegionType;
  readonly words: readonly WordTrace[];
}

/** One run of a world. */
export interface World {
  readonly run_ns: number;
  /** What the policy believes a token takes; null without a token axis. */
  readonly token_period_ns: number | null;
  readonly steps: readonly StepSample[];
  readonly strata: readonly WorldStratum[];
  /** Times at which the tracer does nothing for a while: [begin, end). */
  readonly stopped_ns?: readonly (readonly [number, number])[];
}

/** A kind of world; the seed decides everything in it. */
export interface WorldKind {
  readonly name: string;
  readonly make: (random: Random) => World;
}

/** How long and in which way a drawn word is watched: docs/decisions/002-watch-designs.md says why. */

import type { RegionType, WatchDesign, WatchMode } from "../../../schema/words.ts";
import type { Random } from "../../../statistics/prng.ts";

export interface Design {
  readonly name: WatchDesign;
  readonly mode: WatchMode;
  /** k: the watch ends at this trap. */
  readonly trapLimit: number;
  readonly dwellLimitNs: number;
}

/** What a choice depends on. */
export interface DesignFacts {
  /** Watches chosen before this one in its stratum: turns of strata and of designs must not fall into step. */
  readonly armings: number;
  readonly regionType: RegionType;
  /** Ns per token; null without a token axis. */
  readonly tokenPeriodNs: number | null;
  /** Since watching began. */
  readonly elapsedNs: number;
  /** Registers that watching may hold on every CPU, and how many of them are free. */
  readonly registers: number;
  readonly freeRegisters: number;
  /** Registers that long watches hold now. */
  readonly longRegisters: number;
  /** Rows just ahead of the token axis can be drawn. */
  readonly hasRowsAhead: boolean;
  /** Decoding could not tell reads from writes in this stratum the last time. */
  readonly needsPair: boolean;
}

export const TRAP_LIMIT = 8;
/** Every so many armings a pair of registers checks the decoder, one watch is long, one a cohort. */
const PAIR_EVERY = 8;
const LONG_EVERY = 8;
const COHORT_EVERY = 16;
const SHORT_TOKENS = 12;
const SHORT_LEAST_NS = 50e6;
const SHORT_MOST_NS = 500e6;
const SHORT_WITHOUT_TOKENS_NS = 60e6;
/** A long watch outlasts a short one at least this many times, and at most as long as the run has lasted. */
const LONG_TIMES_SHORT = 8;
/** How many tokens may pass before the row that is drawn ahead is written. */
export const AHEAD_TOKENS = 8;

/** Dwell of a short watch in ns: 12 token periods within 50 to 500 ms; 60 ms without a token axis. */
export function shortDwellNs(tokenPeriodNs: number | null): number {
  if (tokenPeriodNs === null) return SHORT_WITHOUT_TOKENS_NS;
  return Math.min(Math.max(SHORT_TOKENS * tokenPeriodNs, SHORT_LEAST_NS), SHORT_MOST_NS);
}

/** Classes whose bytes are written once or never while they are used. */
const RARELY_WRITTEN: ReadonlySet<RegionType> = new Set(["weight", "kv_cache"]);

function longDesign(facts: DesignFacts, random: Random): Design {
  const least = shortDwellNs(facts.tokenPeriodNs);
  const most = Math.max(LONG_TIMES_SHORT * least, facts.elapsedNs);
  return {
    name: "long",
    mode: RARELY_WRITTEN.has(facts.regionType) ? "w" : "rw",
    trapLimit: TRAP_LIMIT,
    dwellLimitNs: least * (most / least) ** random(),
  };
}

function aheadDesign(facts: DesignFacts, random: Random): Design {
  // Every other one waits for a second write that should not come; the others see the write and the reads after it.
  if (random() < 0.5) return { ...longDesign(facts, random), name: "ahead", mode: "w" };
  const ahead = AHEAD_TOKENS * (facts.tokenPeriodNs ?? 0);
  const dwellLimitNs = shortDwellNs(facts.tokenPeriodNs) + ahead;
  return { name: "ahead", mode: "rw", trapLimit: TRAP_LIMIT, dwellLimitNs };
}

/** Registers that a long watch leaves to the others: one always finds a pair's two, and most addresses are short. */
const NEVER_LONG = 3;
/** A cohort takes two for as long, so it leaves only the pair's. */
const COHORT_REGISTERS = 2;

/** The design of the next watch; null where it needs more registers than are free, so that it waits for them. */
export function chooseDesign(facts: DesignFacts, random: Random): Design | null {
  const { armings, registers, freeRegisters } = facts;
  const mayBeLong = facts.longRegisters + NEVER_LONG < registers;
  const mayBeCohort = facts.longRegisters === 0 && registers >= 4 && freeRegisters >= COHORT_REGISTERS;
  const short = (mode: WatchMode): Design => ({
    name: "short",
    mode,
    trapLimit: TRAP_LIMIT,
    dwellLimitNs: shortDwellNs(facts.tokenPeriodNs),
  });
  if (freeRegisters < 1) return null;
  if (registers > 1 && (facts.needsPair || armings % PAIR_EVERY === 0)) return freeRegisters < 2 ? null : short("pair");
  if (armings % COHORT_EVERY === 5 && facts.regionType !== "weight" && mayBeCohort) {
    return { ...longDesign(facts, random), name: "cohort", mode: "w" };
  }
  if (armings % LONG_EVERY === 3 && mayBeLong) return longDesign(facts, random);
  if (facts.hasRowsAhead && facts.regionType === "kv_cache" && random() < 0.5) {
    const design = aheadDesign(facts, random);
    if (design.mode === "rw" || mayBeLong) return design;
  }
  return short("rw");
}

/** True where the watch may hold its registers for long. */
export function isLong(design: Design): boolean {
  return design.name === "long" || design.name === "cohort" || (design.name === "ahead" && design.mode === "w");
}

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
  /** Uniform in [0, 1), drawn once for this watch: designs in a fixed order could fall into step with a cycle of the program. */
  readonly turn: number;
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
  /** The longest time that a watch may take; longer than a short one takes, or no watch is long. */
  readonly longestNs: number;
  /** Rows just ahead of the token axis can be drawn. */
  readonly hasRowsAhead: boolean;
  /** Decoding could not tell reads from writes in this stratum the last time. */
  readonly needsPair: boolean;
}

export const TRAP_LIMIT = 8;
/** k of the watches that follow bursts, and the time from one write to the next with many reads between. */
export const DEEP_TRAP_LIMIT = 32;
/** The time of a short watch varies by so much around its middle: no cycle of the program can fall into step with it. */
const DWELL_SPREAD = 0.5;
/** Shares of the watches of a stratum: pairs of registers, which check the decoder, cohorts, long ones and deep ones. */
const PAIR_SHARE = 1 / 8;
const COHORT_SHARE = 1 / 16;
const LONG_SHARE = 1 / 8;
/** The same whatever was seen: where they alone tell, those of busy times would stand for quiet ones. */
const DEEP_SHARE = 1 / 8;
const SHORT_TOKENS = 8;
const SHORT_LEAST_NS = 30e6;
const SHORT_MOST_NS = 500e6;
const SHORT_WITHOUT_TOKENS_NS = 80e6;
/** A long watch outlasts a short one at least this many times, and at most as long as the run has lasted. */
const LONG_TIMES_SHORT = 8;
/** Share of the cache draws that are neither pairs nor long that go to rows ahead, and of these the share that sees the reads. */
const AHEAD_SHARE = 1 / 2;
const AHEAD_READS_SHARE = 1 / 2;
/** How many tokens may pass before the row that is drawn ahead is written. */
export const AHEAD_TOKENS = 8;

/** Middle of the dwells of short watches in ns: 8 token periods within 30 to 500 ms; 80 ms without a token axis. */
export function shortDwellNs(tokenPeriodNs: number | null): number {
  if (tokenPeriodNs === null) return SHORT_WITHOUT_TOKENS_NS;
  return Math.min(Math.max(SHORT_TOKENS * tokenPeriodNs, SHORT_LEAST_NS), SHORT_MOST_NS);
}

/** Classes whose bytes are written once or never while they are used. */
const RARELY_WRITTEN: ReadonlySet<RegionType> = new Set(["weight", "kv_cache"]);

function longDesign(facts: DesignFacts, random: Random): Design {
  const least = shortDwellNs(facts.tokenPeriodNs);
  const most = Math.min(Math.max(LONG_TIMES_SHORT * least, facts.elapsedNs), facts.longestNs);
  return {
    name: "long",
    mode: RARELY_WRITTEN.has(facts.regionType) ? "w" : "rw",
    trapLimit: RARELY_WRITTEN.has(facts.regionType) ? TRAP_LIMIT : DEEP_TRAP_LIMIT,
    dwellLimitNs: least * (most / least) ** random(),
  };
}

function aheadDesign(facts: DesignFacts, random: Random): Design {
  // Every other one waits for a second write that should not come; the others see the write and the reads after it.
  if (random() < 1 - AHEAD_READS_SHARE) return { ...longDesign(facts, random), name: "ahead", mode: "w" };
  const ahead = AHEAD_TOKENS * (facts.tokenPeriodNs ?? 0);
  const dwellLimitNs = shortDwellNs(facts.tokenPeriodNs) + ahead;
  return { name: "ahead", mode: "rw", trapLimit: TRAP_LIMIT, dwellLimitNs };
}

/** Registers that a long watch leaves to the others: one always finds a pair's two, and most addresses are short. */
const NEVER_LONG = 3;
/** A cohort takes two for as long, so it leaves only the pair's. */
const COHORT_REGISTERS = 2;

/** Which designs that hold registers for long a watch may have now. */
function longOnes(facts: DesignFacts): { mayBeLong: boolean; mayBeCohort: boolean } {
  const { registers, freeRegisters, longRegisters } = facts;
  const hasTime = facts.longestNs > LONG_TIMES_SHORT * shortDwellNs(facts.tokenPeriodNs);
  const isCohort = longRegisters === 0 && registers >= 4 && freeRegisters >= COHORT_REGISTERS;
  return {
    mayBeLong: hasTime && longRegisters + NEVER_LONG < registers,
    mayBeCohort: hasTime && facts.regionType !== "weight" && isCohort,
  };
}

/**
 * Share of the turns of a stratum that go to its words whatever is written next. Rows ahead are there for some of the time only, as they are not while
 * a cache has several sequences: words would count more in the other time, as more watches fall on them.
 */
export function notAhead(facts: DesignFacts): number {
  if (!facts.hasRowsAhead || facts.regionType !== "kv_cache" || facts.needsPair) return 1;
  const { mayBeLong, mayBeCohort } = longOnes(facts);
  const pairs = facts.registers > 1 ? PAIR_SHARE : 0;
  const rest = 1 - pairs - (mayBeCohort ? COHORT_SHARE : 0) - (mayBeLong ? LONG_SHARE : 0);
  return 1 - rest * AHEAD_SHARE * (mayBeLong ? 1 : AHEAD_READS_SHARE);
}

/** The design of the next watch; null where it needs more registers than are free, so that it waits for them. */
export function chooseDesign(facts: DesignFacts, random: Random): Design | null {
  const { turn, registers, freeRegisters } = facts;
  const { mayBeLong, mayBeCohort } = longOnes(facts);
  const short = (mode: WatchMode, trapLimit: number): Design => ({
    name: "short",
    mode,
    trapLimit,
    dwellLimitNs: shortDwellNs(facts.tokenPeriodNs) * (1 + DWELL_SPREAD * (2 * random() - 1)),
  });
  if (freeRegisters < 1) return null;
  const limit = turn >= 1 - DEEP_SHARE ? DEEP_TRAP_LIMIT : TRAP_LIMIT;
  const shortPair = (): Design | null => (freeRegisters < 2 ? null : short("pair", limit));
  if (registers > 1 && turn < PAIR_SHARE) return shortPair();
  const isCohort = turn >= PAIR_SHARE && turn < PAIR_SHARE + COHORT_SHARE;
  const longFrom = PAIR_SHARE + COHORT_SHARE;
  if (isCohort && mayBeCohort) {
    return { ...longDesign(facts, random), name: "cohort", mode: "w" };
  }
  const needsPair = facts.needsPair && registers > 1;
  // Whatever was seen: without long watches while a stratum needs pairs, those of other times would stand for these.
  if (turn >= longFrom && turn < longFrom + LONG_SHARE && mayBeLong) {
    const isPair = needsPair && !RARELY_WRITTEN.has(facts.regionType);
    if (isPair && freeRegisters < 2) return null;
    return { ...longDesign(facts, random), ...(isPair ? { mode: "pair" } : {}) };
  }
  if (needsPair) return shortPair();
  if (facts.hasRowsAhead && facts.regionType === "kv_cache" && random() < AHEAD_SHARE) {
    const design = aheadDesign(facts, random);
    if (design.mode === "rw" || mayBeLong) return design;
  }
  return short("rw", limit);
}

/** True where the watch may hold its registers for long. */
export function isLong(design: Design): boolean {
  return design.name === "long" || design.name === "cohort" || (design.name === "ahead" && design.mode === "w");
}

/** When the next watch is armed: a schedule that is known before anything is seen. */
import type { Random } from "../../../statistics/prng.ts";
import { ATTENTIVE_MS } from "../part.ts";
import { registersOf } from "./arm.ts";
import { MOST_LOOK_DEBT_NS, type WatchCosts } from "./budget.ts";
import { type Design, TRAP_LIMIT } from "./design.ts";

export interface Pace {
  /** True when the next watch may be armed. */
  isDue(elapsedNs: number): boolean;
  /** Watches to arm at one look at most. */
  readonly atOnce: number;
  /** Takes note of a watch that was armed: the next one waits as long as the dearest course of this one costs. */
  armed(design: Design): void;
  /** Takes note of what looks were paid from the budget: from one watch to the next they put it off by as long as they hold up the budget at most. */
  spent(ns: number): void;
  /** The longest time that a watch may take, ns: no bound unless copies ask for rests. */
  longestNs(elapsedNs: number): number;
  /** Goes on with another share of each CPU, in percent. */
  change(budgetPct: number, elapsedNs: number): void;
}

export interface PaceOptions {
  readonly costs: WatchCosts;
  /** Share of each CPU that watching may cost, in percent. */
  readonly budgetPct: number;
  /** CPUs whose registers stop one by one when the limit is reached. */
  readonly cpus: number;
  /** Share of its time that the target loses to slow copies while a watch is on, in [0, 1]; none where it is absent. */
  readonly copyLoss?: () => number;
  /** What traps cost so far that no watch pays for in advance, ns; nothing where it is absent. */
  readonly deferredNs?: () => number;
}

/** Slow copies may cost the target so many times what its traps may. */
const COPIES_TIMES_BUDGET = 2;
/**
 * Where there are rests no watch takes more than this part of the time in which there may be one: the others would wait for it. Nor do these rest
 * for longer behind one that began before copies were seen: else a program that copies while it loads is not looked at for seconds.
 */
const LONGEST_PART = 1 / 8;

/** The schedule waits at most so long for registers, and then goes on from there. */
const MOST_BEHIND_NS = 50e6;
/** Arming takes up to some hundred us on this thread, which has rings to read. */
const MOST_AT_ONCE = 4;

/** The most that a watch can cost the CPU that pays for it, in ns: as many traps as it may have, and its retargets. */
export function worstCostNs({ mode, trapLimit }: Design, { costs, cpus }: Pick<PaceOptions, "costs" | "cpus">): number {
  return registersOf(mode).length * costs.retargetNs + (trapLimit + cpus - 1) * costs.trapNs;
}

/**
 * Watches that begin when the last one ended would begin more often where the program is busy, as busy words end them
 * early; those that wait for a debt to be paid would begin less often there. So each pays in advance for its dearest
 * course, and begins at a random moment of its turn, which no cycle of the program can follow.
 *
 * What no watch pays for in advance all of them pay alike: its mean over the watches so far.
 *
 * Where copies are slow beside watches these leave times without any: watches of a length d that begin at random at a rate r
 * overlap, so that there is one in 1 - exp(-r d) of the time, and each pays for its own d.
 */
export function createPace(options: PaceOptions, random: Random): Pace {
  let share = options.budgetPct / 100;
  /** How many watches there may be in the mean; as many as registers allow where copies do not matter. */
  const mostOn = (): number => {
    const armed = (COPIES_TIMES_BUDGET * share) / (options.copyLoss?.() ?? 0);
    return armed < 1 ? -Math.log1p(-armed) : Number.POSITIVE_INFINITY;
  };
  const usual: Design = { name: "short", mode: "rw", trapLimit: TRAP_LIMIT, dwellLimitNs: 0 };
  const turns = (1e6 * ATTENTIVE_MS * share) / worstCostNs(usual, options);
  let armed = 0;
  let extraNs = 0;
  /** No copies were seen when the last watch began. */
  let isUnaware = true;
  let latestNs = 0;
  const lengthOf = (design: Design): number => {
    const rest = design.dwellLimitNs / mostOn();
    const most = isUnaware ? LONGEST_PART * latestNs : Number.POSITIVE_INFINITY;
    return Math.max((worstCostNs(design, options) + extraNs) / share, Math.min(rest, most));
  };
  let last: Design | null = null;
  /** Of the turn of the last watch, as it was reckoned last. */
  let lengthNs = 0;
  let turnNs = 0;
  let beginNs = 0;
  /** For how long looks put the next watch off. */
  let putOffNs = 0;
  /** Copies began or ended, or the budget changed: what is still to be waited gets as much longer as the turn. */
  function reckonAnew(elapsedNs: number): void {
    latestNs = elapsedNs;
    if (last === null) return;
    const times = lengthOf(last) / lengthNs;
    const later = (moment: number): number => (moment > elapsedNs ? elapsedNs + (moment - elapsedNs) * times : moment);
    lengthNs *= times;
    turnNs = later(turnNs);
    beginNs = later(beginNs);
  }
  return {
    // Watches that begin together see the same moment of the program: they tell less than as many that begin apart.
    atOnce: Math.min(MOST_AT_ONCE, Math.max(1, Math.round(turns))),
    isDue: (elapsedNs) => {
      reckonAnew(elapsedNs);
      if (elapsedNs - turnNs > MOST_BEHIND_NS) turnNs = elapsedNs - MOST_BEHIND_NS;
      return elapsedNs >= beginNs;
    },
    armed(design) {
      armed += 1;
      // As it is when a watch begins: what this one sees must not decide when the next one does.
      extraNs = (options.deferredNs?.() ?? 0) / armed;
      last = design;
      isUnaware = mostOn() === Number.POSITIVE_INFINITY;
      lengthNs = lengthOf(design);
      turnNs += lengthNs;
      beginNs = turnNs + random() * lengthNs;
      putOffNs = 0;
    },
    spent(ns) {
      const longer = Math.min(ns / share, MOST_LOOK_DEBT_NS - putOffNs);
      putOffNs += longer;
      turnNs += longer;
      beginNs += longer;
    },
    longestNs(elapsedNs) {
      const most = mostOn();
      return most < Number.POSITIVE_INFINITY ? LONGEST_PART * elapsedNs * most : most;
    },
    change(budgetPct, elapsedNs) {
      share = budgetPct / 100;
      reckonAnew(elapsedNs);
    },
  };
}

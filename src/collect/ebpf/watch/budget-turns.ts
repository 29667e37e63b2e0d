/** The whole budget and a quarter of it by turns of drawn length, so that it shows whether watching moves the figures. */
import type { Random } from "../../../statistics/prng.ts";

/** A stretch in which watches were armed with one budget: from its begin to that of the next. */
export interface BudgetTurn {
  readonly begin_ns: bigint;
  readonly budget_pct: number;
}

export interface BudgetTurns {
  /** The share of each CPU that may be spent from now on, in percent. */
  pctAt(nowNs: bigint): number;
  readonly turns: readonly BudgetTurn[];
}

const REDUCED = 1 / 4;
/** Longer than most watches, which are still there when the next turn has begun; short beside what work does over minutes. */
const WHOLE_NS = 500e6;
/** As many watches are armed in the turns of each kind. */
const REDUCED_NS = WHOLE_NS / REDUCED;
/** No cycle of the program can follow turns of uneven length. */
const SPREAD = 0.5;

/** @param budgetPct the whole budget, with which it begins */
export function budgetTurns(budgetPct: number, random: Random): BudgetTurns {
  const turns: BudgetTurn[] = [];
  let isWhole = false;
  let endNs = 0n;
  return {
    turns,
    pctAt(nowNs) {
      if (turns.length === 0 || nowNs >= endNs) {
        isWhole = !isWhole;
        const middle = isWhole ? WHOLE_NS : REDUCED_NS;
        endNs = nowNs + BigInt(Math.round(middle * (1 + SPREAD * (2 * random() - 1))));
        turns.push({ begin_ns: nowNs, budget_pct: isWhole ? budgetPct : budgetPct * REDUCED });
      }
      return turns.at(-1)?.budget_pct ?? budgetPct;
    },
  };
}

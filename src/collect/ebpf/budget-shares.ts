/** The one budget of a run, from which each part that costs the target time takes its share, once. */

export interface BudgetShare {
  /** The most that the part may take, in percent of each CPU. */
  readonly pct: number;
  /** Takes so much of it; the rest goes to those who come after. A part that takes nothing leaves all. */
  take(pct: number): void;
}

export interface BudgetShares {
  /** The share of the next part: half of what is left while others wait, all of it for the last. */
  next(): BudgetShare;
}

/**
 * Splits a budget.
 * @param totalPct share of each CPU that all parts together may cost the target, in percent
 * @param parts how many of them need a share
 */
export function splitBudget(totalPct: number, parts: number): BudgetShares {
  let leftPct = totalPct;
  let waiting = parts;
  return {
    next() {
      waiting -= 1;
      return {
        pct: waiting > 0 ? leftPct / 2 : leftPct,
        take(pct) {
          leftPct -= pct;
        },
      };
    },
  };
}

/** One budget for everything that watching costs the target, on each CPU by itself: traps, retargets and looks alike. */

/** What one event costs the CPU on which it happens, in ns. */
export interface WatchCosts {
  readonly trapNs: number;
  /** Arming and disarming one register. */
  readonly retargetNs: number;
}

export interface BudgetOptions {
  readonly cpus: readonly number[];
  /** Share of each CPU that watching may cost, in percent. */
  readonly budgetPct: number;
  readonly costs: WatchCosts;
}

export interface Budget {
  /** Gives every CPU its share of the time since the last call; `nowNs` in ns of any steady clock. */
  refill(nowNs: number): void;
  chargeTraps(cpu: number, traps: number): void;
  /**
   * Lets traps that were charged be paid later, as no watch pays for them in advance: those that continue a string instruction, come before a watch has
   * begun, are of other processes, or of our own reads. A debt of them would put watches off where the program is busy.
   */
  defer(cpu: number, traps: number): void;
  /** What was put off so far on the CPU that has most of it, in ns. */
  deferredNs(): number;
  /** Charges every CPU for arming and disarming `registers` registers on each. */
  chargeRetargets(registers: number): void;
  /**
   * Charges every CPU for looks that held a lock of the target, as a thread may have waited on any. Some cannot wait for
   * the budget: what they owe holds each arming up for half a second at most, also where they go on.
   */
  chargeLooks(ns: number): void;
  /** True while no CPU is in debt. */
  canSpend(): boolean;
  /** Goes on with another share of each CPU, in percent. */
  change(budgetPct: number): void;
  /** Takes these CPUs in, which were added to those that it was made with. */
  widen(cpus: readonly number[]): void;
  /** All that was charged, in ns, per CPU in the order of `cpus`. */
  spentNs(): readonly number[];
}

/** An idle budget saves up this much time's share and no more, so that a pause is not followed by a storm. */
const DEPTH_NS = 50e6;
/** What is to be paid later is held up for at most so much time's share: then watches wait for it. */
const MOST_DEFERRED_NS = 250e6;
/** Debt of looks from one arming to the next, as the time that pays for it. */
export const MOST_LOOK_DEBT_NS = 500e6;

/**
 * A token bucket per CPU that may go into debt: a watch is armed only when no CPU owes anything. What one armed
 * watch can cost is bounded by its trap limit, so over any time T the cost is at most
 * `budgetPct` of T plus one bucket, what is to be paid later, and the watches in flight, whatever the target does.
 */
export function createBudget({ cpus, budgetPct, costs }: BudgetOptions): Budget {
  let share = budgetPct / 100;
  const balance = new Map(cpus.map((cpu) => [cpu, DEPTH_NS * share]));
  const spent = new Map(cpus.map((cpu) => [cpu, 0]));
  /** What is to be paid later, and all that ever was. */
  const owed = new Map(cpus.map((cpu) => [cpu, 0]));
  const deferred = new Map(cpus.map((cpu) => [cpu, 0]));
  let lastNs: number | null = null;
  /** What looks were charged since the last arming. */
  let looksNs = 0;
  const charge = (cpu: number, ns: number) => {
    if (!balance.has(cpu)) return;
    balance.set(cpu, (balance.get(cpu) ?? 0) - ns);
    spent.set(cpu, (spent.get(cpu) ?? 0) + ns);
  };
  return {
    refill(nowNs) {
      const gained = lastNs === null ? 0 : Math.max(0, nowNs - lastNs) * share;
      lastNs = nowNs;
      for (const [cpu, ns] of balance) {
        balance.set(cpu, Math.min(DEPTH_NS * share, ns + gained));
        // What the bucket cannot take pays for what was put off.
        owed.set(cpu, Math.max(0, (owed.get(cpu) ?? 0) - Math.max(0, ns + gained - DEPTH_NS * share)));
      }
    },
    chargeTraps: (cpu, traps) => charge(cpu, traps * costs.trapNs),
    defer(cpu, traps) {
      if (!balance.has(cpu) || !(traps > 0)) return;
      const ns = traps * costs.trapNs;
      balance.set(cpu, (balance.get(cpu) ?? 0) + ns);
      owed.set(cpu, (owed.get(cpu) ?? 0) + ns);
      deferred.set(cpu, (deferred.get(cpu) ?? 0) + ns);
    },
    deferredNs: () => Math.max(0, ...deferred.values()),
    chargeRetargets(registers) {
      looksNs = 0;
      for (const cpu of cpus) charge(cpu, registers * costs.retargetNs);
    },
    chargeLooks(ns) {
      // What a CPU has saved up is spent first; the share may be less than it was.
      const owed = Math.max(0, Math.min(ns, (MOST_LOOK_DEBT_NS + DEPTH_NS) * share - looksNs));
      looksNs += owed;
      for (const cpu of cpus) {
        const before = balance.get(cpu) ?? 0;
        charge(cpu, ns);
        balance.set(cpu, Math.max(before - owed, Math.min(before, -MOST_LOOK_DEBT_NS * share)));
      }
    },
    change(pct) {
      share = pct / 100;
    },
    widen(more) {
      for (const cpu of more) balance.set(cpu, 0);
    },
    canSpend: () =>
      [...balance.values()].every((ns) => ns >= 0) && [...owed.values()].every((ns) => ns <= MOST_DEFERRED_NS * share),
    spentNs: () => cpus.map((cpu) => spent.get(cpu) ?? 0),
  };
}

/** What watching did, what it cost and what it lost: for the report and the run's validity. */
import type { LedgerRow } from "../../../schema/ledger.ts";
import type { LatePolls } from "../../../schema/run-details.ts";
import type { StringTicks } from "../copies/beside-watches.ts";
import type { SeenAccesses } from "./accesses.ts";
import type { BudgetTurn } from "./budget-turns.ts";
import type { Calibration } from "./calibrate.ts";
import type { Tracer } from "./free-registers.ts";
import type { CpuTraps } from "./slots.ts";

/** What the rows of the account of watches are of. */
export const ACCESSES = { stream: "access", source: "watch", way: null } as const;

/** How often decoding said what a pair of registers saw. */
export interface DecoderAgreement {
  readonly agreed: number;
  readonly compared: number;
}

/** Counts since the start; traps are those of all CPUs. */
export interface WatchCounts {
  /** Watches armed; each holds its registers on every CPU. */
  armings: number;
  finished: number;
  /** Watches that gave no row, because traps were lost. */
  incomplete: number;
  /** Watches that gave no row, because the target may have run where they had no register. */
  elsewhere: number;
  traps: number;
  foreign_traps: number;
  /** While the registers of a watch were being switched on. */
  early_traps: number;
  /** On a register whose watch had reached its limit on another CPU. */
  beyond_traps: number;
  /** On a register whose watch had ended. */
  stale_traps: number;
  /** By what our own probes read of a watched word: none of the program's accesses. */
  probe_traps: number;
  kernel_traps: number;
  access_rows: number;
  /** Traps that were the bursts of one string instruction. */
  collapsed_traps: number;
  outside_traps: number;
  /** Rows of a pair's write register that have their twin, and those that have none. */
  twin_rows: number;
  unpaired_rows: number;
  /** Traps in the program's own code that decoding could not tell. */
  undecided_traps: number;
  /** Rows of watches that gave none, and rows of registers whose watch was over. */
  incomplete_rows: number;
  stale_rows: number;
  /** Retries after all registers were taken, and armings given up for it. */
  register_retries: number;
  register_failures: number;
}

export interface WatchSummary {
  readonly counts: Readonly<WatchCounts>;
  readonly calibration: Calibration;
  readonly agreement: DecoderAgreement;
  /** CPUs on which every watch holds its registers. */
  readonly cpus: number;
  /** From when on a watch cannot be on what came, to its arming: mean over the watches. */
  readonly draw_lag_ns: number;
  /** When it did not come round to its watches. */
  readonly late: LatePolls;
  /** Ticks of the timer, and those on a string instruction while there was a watch; null without a timer. */
  readonly beside_watches: StringTicks | null;
  /** Share of the time in which there was a watch, in [0, 1]. */
  readonly armed_share: number;
  readonly registers: {
    readonly wanted: number;
    /** Free on every CPU when watching began. */
    readonly free_at_start: number;
    /** Least that we could use later. */
    readonly least: number;
    /** Processes that trace another, named when registers were missing. */
    readonly candidates: readonly Tracer[];
  };
  readonly budget: {
    readonly budget_pct: number;
    readonly elapsed_ns: number;
    /** Estimated cost on the CPU that paid most, in percent of the elapsed time. */
    readonly spent_pct: number;
    /** Estimated cost per CPU, in ns. */
    readonly spent_ns: Readonly<Record<number, number>>;
    /** Which budget held from when on; null where it was one all the time. */
    readonly turns: readonly BudgetTurn[] | null;
  };
}

/** Adds the new traps of a CPU. */
export function countTraps(counts: WatchCounts, { traps, stale, foreign, early, beyond, probed }: CpuTraps): void {
  counts.traps += traps;
  counts.stale_traps += stale;
  counts.foreign_traps += foreign;
  counts.early_traps += early;
  counts.beyond_traps += beyond;
  counts.probe_traps += probed;
}

/** Adds what a finished watch saw. */
export function countFinished(
  counts: WatchCounts,
  agreement: { agreed: number; compared: number },
  seen: SeenAccesses,
) {
  counts.finished += 1;
  counts.kernel_traps += seen.kernelTraps;
  counts.collapsed_traps += seen.collapsed;
  counts.outside_traps += seen.outside;
  counts.twin_rows += seen.twins;
  counts.unpaired_rows += seen.unpaired;
  counts.undecided_traps += seen.undecided;
  counts.access_rows += seen.accesses.length;
  agreement.agreed += seen.agreed;
  agreement.compared += seen.compared;
}

export function emptyCounts(): WatchCounts {
  return {
    armings: 0,
    finished: 0,
    incomplete: 0,
    elsewhere: 0,
    traps: 0,
    foreign_traps: 0,
    early_traps: 0,
    beyond_traps: 0,
    stale_traps: 0,
    probe_traps: 0,
    kernel_traps: 0,
    access_rows: 0,
    collapsed_traps: 0,
    outside_traps: 0,
    twin_rows: 0,
    unpaired_rows: 0,
    undecided_traps: 0,
    incomplete_rows: 0,
    stale_rows: 0,
    register_retries: 0,
    register_failures: 0,
  };
}

/** What became of the rows that were read from the ring. */
export function decodedRow({ access_rows, incomplete_rows }: WatchCounts, seen: number): LedgerRow {
  return {
    ...ACCESSES,
    stage: "decode",
    pid: null,
    seen,
    kept: access_rows,
    filtered: seen - access_rows - incomplete_rows,
    dropped: incomplete_rows,
    dropped_by: { watch_incomplete: incomplete_rows },
    unseen_estimate: null,
  };
}

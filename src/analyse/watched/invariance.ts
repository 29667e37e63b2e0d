/** Whether watching moves the figures: each from the watches of the whole budget and from those of a part of it, by turns. */
import { firstIndex } from "../../statistics/first-index.ts";
import { type Interval, interval } from "../../statistics/interval.ts";
import { moverDifference } from "../../statistics/mover.ts";
import { studentQuantile } from "../../statistics/student.ts";
import type { MetricRow } from "../figures/metric-row.ts";
import type { AnalysisInput, WatchSample } from "../input/input.ts";
import { printedFigures } from "../metrics/registry.ts";
import { figuresAgain } from "./figure-again.ts";

/** Turns in order of time, ns since the start of the run; each lasts until the next begins. */
export type Turns = readonly { readonly begin_ns: number; readonly budget_pct: number }[];

export interface FigureByBudget {
  readonly metric: string;
  readonly region_type: string;
  readonly mapping_kind: string | null;
  readonly phase: string;
  readonly unit: string;
  readonly whole: Interval & { readonly n: number };
  readonly reduced: Interval & { readonly n: number };
  /** whole - reduced. */
  readonly difference: Interval;
  /** Whether the interval of the difference leaves out 0. */
  readonly differs: boolean;
  /** What the two say of a run that nothing watches, if what watching does grows with the budget. */
  readonly unwatched: Interval;
}

export interface Invariance {
  readonly whole_pct: number;
  readonly reduced_pct: number;
  readonly turns: number;
  readonly figures: readonly FigureByBudget[];
  /** Headline figures that one of the two could not tell. */
  readonly untold: number;
}

const HEADLINES: ReadonlySet<string> = new Set([
  "read_bytes_per_s",
  "write_bytes_per_s",
  "hits_per_pass",
  "iai_p50_ns",
  "reads_per_write",
  "retention_p50_ns",
]);
/** Groups of neighbouring turns that are left out in turn; with fewer their spread is not known. */
const GROUPS = 12;
const LEAST_GROUPS = 5;
/** Of them so many must tell the figure: without one group a figure may be held back that stands at the edge. */
const LEAST_TELLING = 2 / 3;
const TAIL = 0.975;

interface Stretch {
  readonly begin_ns: number;
  readonly end_ns: number;
  readonly isWhole: boolean;
  /** Number of the pair of turns that it belongs to. */
  readonly cycle: number;
}

function stretchesOf(turns: Turns, endNs: number): Stretch[] {
  const most = Math.max(...turns.map(({ budget_pct }) => budget_pct));
  return turns.map(({ begin_ns, budget_pct }, i) => ({
    begin_ns,
    end_ns: turns[i + 1]?.begin_ns ?? endNs,
    isWhole: budget_pct === most,
    cycle: i >> 1,
  }));
}

/** What the watches say of some rows that began in some stretches; the time between these is not held against them. */
function figuresIn(input: AnalysisInput, rows: readonly MetricRow[], kept: readonly Stretch[]): (MetricRow | null)[] {
  const isIn = ({ begin_ns }: Pick<WatchSample, "begin_ns">): boolean => {
    const stretch = kept[firstIndex(kept.length, (i) => (kept[i]?.end_ns ?? 0) <= begin_ns)];
    return stretch !== undefined && stretch.begin_ns <= begin_ns;
  };
  const watches = input.watches.filter(isIn);
  const left = input.left_watches === undefined ? {} : { left_watches: input.left_watches.filter(isIn) };
  const passed: [number, number][] = [];
  let lastNs = 0;
  for (const { begin_ns, end_ns } of kept) {
    if (begin_ns > lastNs) passed.push([lastNs, begin_ns]);
    lastNs = end_ns;
  }
  if (lastNs < input.window_ns) passed.push([lastNs, input.window_ns]);
  const bare = { ...input, accessSums: [], allocations: [], streams: [], kvRows: [], counts: null };
  return figuresAgain({ ...bare, ...left, watches, passed_over: passed }, rows);
}

const isTold = (row: MetricRow | null): row is MetricRow & { readonly value: number } =>
  row !== null && row.status === "ok" && row.value !== null;

const intervalOfRow = ({ value, lo, hi, n }: MetricRow): FigureByBudget["whole"] => ({ ...interval(value, lo, hi), n });

/**
 * Half of the interval of a difference by the jackknife over groups of turns (Tukey 1958): what changes in the work from turn
 * to turn is in it, which the intervals over addresses do not hold.
 */
function jackknifeHalf(without: readonly number[], groups: number): number {
  const count = without.length;
  const mean = without.reduce((a, b) => a + b, 0) / count;
  const variance = ((groups - 1) / count) * without.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return studentQuantile(TAIL, count - 1) * Math.sqrt(variance);
}

const wider = (one: Interval, half: number): Interval => {
  const value = one.value ?? 0;
  return interval(value, Math.min(one.lo ?? value, value - half), Math.max(one.hi ?? value, value + half));
};

/** The line through both budgets, at none: q + (q - w) r / (1 - r), by MOVER for a weighted difference. */
function atNoBudget(whole: Interval, reduced: Interval, ratio: number): Interval {
  const [more, less] = [1 / (1 - ratio), ratio / (1 - ratio)];
  const times = ({ value, lo, hi }: Interval, factor: number) => ({
    value: factor * (value ?? 0),
    lo: lo === null ? null : factor * lo,
    hi: hi === null ? null : factor * hi,
  });
  const { value, lo, hi } = moverDifference(times(whole, less), times(reduced, more));
  return interval(value, lo, hi);
}

/**
 * The headline figures by budget; null where there were too few turns to tell.
 * @param rows the figures of the input
 */
export function invarianceOf(input: AnalysisInput, rows: readonly MetricRow[], turns: Turns): Invariance | null {
  const stretches = stretchesOf(turns, input.window_ns);
  const cycles = Math.floor(turns.length / 2);
  const groups = Math.min(GROUPS, cycles);
  if (groups < LEAST_GROUPS) return null;
  const pcts = turns.map(({ budget_pct }) => budget_pct);
  const [whole_pct, reduced_pct] = [Math.max(...pcts), Math.min(...pcts)];
  const wanted = printedFigures(rows).filter(
    ({ metric, source, step }) => HEADLINES.has(metric) && source === "watch" && step === "all",
  );
  /** By the whole budget and by the reduced one, of each row. */
  const pairsOf = (some: readonly MetricRow[], kept: readonly Stretch[]) => {
    const [whole, reduced] = [true, false].map((isWhole) =>
      figuresIn(
        input,
        some,
        kept.filter((stretch) => stretch.isWhole === isWhole),
      ),
    );
    return some.map((row, i) => ({ row, whole: whole?.[i] ?? null, reduced: reduced?.[i] ?? null }));
  };
  const both = pairsOf(wanted, stretches).flatMap(({ row, whole, reduced }) =>
    isTold(whole) && isTold(reduced) ? [{ row, whole, reduced }] : [],
  );
  const without = Array.from({ length: groups }, (_, g) =>
    pairsOf(
      both.map(({ row }) => row),
      stretches.filter(({ cycle }) => Math.floor((Math.min(cycle, cycles - 1) * groups) / cycles) !== g),
    ),
  );
  const figures: FigureByBudget[] = [];
  for (const [i, { row, whole, reduced }] of both.entries()) {
    const differences = without.flatMap((pairs) => {
      const { whole: a = null, reduced: b = null } = pairs[i] ?? {};
      return isTold(a) && isTold(b) ? [a.value - b.value] : [];
    });
    if (differences.length < Math.max(LEAST_GROUPS, LEAST_TELLING * groups)) continue;
    const [atWhole, atReduced] = [intervalOfRow(whole), intervalOfRow(reduced)];
    const { value, lo, hi } = moverDifference(
      { ...atReduced, value: reduced.value },
      { ...atWhole, value: whole.value },
    );
    const difference = wider(interval(value, lo, hi), jackknifeHalf(differences, groups));
    const { metric, region_type, mapping_kind, phase, unit } = row;
    figures.push({
      metric,
      region_type,
      mapping_kind,
      phase,
      unit,
      whole: atWhole,
      reduced: atReduced,
      difference,
      differs: (difference.lo ?? 0) > 0 || (difference.hi ?? 0) < 0,
      unwatched: atNoBudget(atWhole, atReduced, reduced_pct / whole_pct),
    });
  }
  const possible = wanted.filter(({ status }) => status !== "not_identifiable");
  return { whole_pct, reduced_pct, turns: turns.length, figures, untold: possible.length - figures.length };
}

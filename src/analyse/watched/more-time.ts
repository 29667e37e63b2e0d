/** Which interval a longer run would halve, and how much longer: from what half of the watches says beside all of them. */
import type { MetricRow } from "../figures/metric-row.ts";
import type { AnalysisInput, WatchSample } from "../input/input.ts";
import { printedFigures } from "../metrics/registry.ts";
import { figuresAgain } from "./figure-again.ts";

/** An interval that a run longer by `more_s` would make half as wide, of the metric, class and phase named. */
export interface MoreTime {
  readonly metric: string;
  readonly region_type: string;
  readonly mapping_kind: string | null;
  readonly phase: string;
  /** How far the interval reaches from the value, to its farther end, in percent of it. */
  readonly half_width_pct: number;
  /** Time that the figure covers now. */
  readonly run_s: number;
  readonly more_s: number;
}

const HEADLINES: ReadonlySet<string> = new Set([
  "read_bytes_per_s",
  "write_bytes_per_s",
  "reads_per_write",
  "iai_p50_ns",
  "retention_p50_ns",
]);
/** A narrower interval is not worth more time. */
const LEAST_WIDTH = 0.05;
/** Halves are looked at for so many figures at most, the widest first: each takes two more estimates. */
const MOST_TRIED = 5;
/**
 * Of n independent units an interval is as wide as the root of 1 / n: half of them make it 1.41 times as wide. Widths of halves
 * vary around that; what lies outside does not follow the number of units, and time would not mend it as said here.
 */
const [LEAST_GROWTH, MOST_GROWTH] = [1.25, 1.75];
/** Four times the units for half of the width. */
const TIMES_MORE = 3;

/** How far the interval reaches from the value, over the value, to its farther end as the answer prints it; null where it has none. */
function reachOf({ status, value, lo, hi }: MetricRow): number | null {
  if (status !== "ok" || value === null || lo === null || hi === null || !(value > 0) || !(hi > lo)) return null;
  return Math.max(value - lo, hi - value) / value;
}

/** The rows that the answer shows: of a figure that is told of decoding that one, else that of the whole span. */
function answeredRows(rows: readonly MetricRow[]): MetricRow[] {
  const headlines = printedFigures(rows).filter(({ metric, source }) => HEADLINES.has(metric) && source === "watch");
  const keyOf = ({ metric, region_type, mapping_kind }: MetricRow): string =>
    `${metric}/${region_type}/${mapping_kind}`;
  const answered = headlines.filter(({ step, status }) => step === "decode" && (status === "ok" || status === "bound"));
  const decoding = new Set(answered.map(keyOf));
  return headlines.filter((row) => row.step === (decoding.has(keyOf(row)) ? "decode" : "all"));
}

/** Every other watch of each stratum, in the order of arming. @param odd which of the two halves */
function halfOf(watches: readonly WatchSample[], odd: boolean): WatchSample[] {
  const counts = new Map<string, number>();
  return watches.filter(({ stratum }) => {
    const count = counts.get(stratum) ?? 0;
    counts.set(stratum, count + 1);
    return (count % 2 === 1) === odd;
  });
}

/**
 * The headline figure with the widest interval that time would halve; null where none is wide, or time is not what they lack: where there is no memory
 * for all watches, more of them tell no more.
 * @param rows the figures of the input
 */
export function moreTime(input: AnalysisInput, rows: readonly MetricRow[]): MoreTime | null {
  if (input.left_watches !== undefined) return null;
  const wide = answeredRows(rows)
    .flatMap((row) => {
      const width = reachOf(row);
      return width === null || width < LEAST_WIDTH ? [] : [{ row, width }];
    })
    .sort((a, b) => b.width - a.width)
    .slice(0, MOST_TRIED);
  if (wide.length === 0) return null;
  const bare = { ...input, accessSums: [], allocations: [], streams: [], kvRows: [], counts: null };
  const halves = [false, true].map((odd) => ({ ...bare, watches: halfOf(input.watches, odd) }));
  for (const { row, width } of wide) {
    const again = halves.flatMap((half) => figuresAgain(half, [row]));
    const widths = again.flatMap((one) => (one === null ? [] : (reachOf(one) ?? [])));
    if (widths.length < halves.length) continue;
    const growth = widths.reduce((sum, one) => sum + one / widths.length, 0) / width;
    if (growth < LEAST_GROWTH || growth > MOST_GROWTH) continue;
    const { metric, region_type, mapping_kind, phase, window_ns } = row;
    const run_s = window_ns / 1e9;
    const more_s = Math.ceil(TIMES_MORE * run_s);
    return { metric, region_type, mapping_kind, phase, half_width_pct: 100 * width, run_s, more_s };
  }
  return null;
}

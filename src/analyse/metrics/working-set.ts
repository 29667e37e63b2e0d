/** Bytes touched within a window of time. */
import { chao1, goodCoverage } from "../../statistics/chao1.ts";
import { weightedProportion } from "../../statistics/clopper-pearson.ts";
import { type Interval, interval, scaled } from "../../statistics/interval.ts";
import { FEWEST } from "../figures/figure-row.ts";
import { peakBytes } from "../input/class-bytes.ts";
import type { Group, WatchSet } from "../input/group.ts";
import type { AccessSums, SeenBlocks } from "../input/input.ts";
import { isInside } from "../input/span.ts";
import { IMPORT } from "../stream/stream-figures.ts";
import type { Exposure } from "../watched/exposure.ts";
import type { Figure, MetricFamily } from "./metric.ts";

const LINE_BYTES = 64;
const PAGE_BYTES = 4096;
/** Window where there is no token axis. */
const DEFAULT_WINDOW_NS = 100e6;
/** Two decode calls: what every call touches is then inside, whatever the phase of the window. */
const TURNS = 2;
/** Least share of accesses on lines already seen. */
const LEAST_COVERAGE = 0.5;

function capped(uncapped: Interval, most: number): Interval {
  const cap = (x: number | null): number | null => (x === null || most <= 0 ? x : Math.min(x, most));
  return interval(cap(uncapped.value), cap(uncapped.lo), cap(uncapped.hi));
}

/** The share of the bytes drawn that was touched within the window; of shorter watches what that share is at least. */
function touchedShare(
  { exposures, weights, span, unwatched }: WatchSet,
  window: number,
): { share: Interval; n: number; whole: boolean } {
  const fits = (e: Exposure): boolean =>
    isInside(span, e.armed_ns) && isInside(span, e.armed_ns + window) && e.armed_ns + window <= e.window_end_ns;
  const touched = (e: Exposure): boolean => e.passes.count > 0 && (e.passes.start_ns[0] ?? 0) <= e.armed_ns + window;
  const count = (which: (e: Exposure) => boolean): { share: Interval; n: number } => {
    const members = exposures.map((e, i) => [e, weights.bytes[i] ?? 0] as const).filter(([e]) => which(e));
    const share = weightedProportion(
      members.map(([e]) => (touched(e) ? 1 : 0)),
      members.map(([, w]) => w),
    );
    return { share, n: members.length };
  };
  const long = count(fits);
  if (long.n >= FEWEST) {
    const { value, lo, hi } = long.share;
    const wide = interval(
      value,
      lo === null ? null : lo * (1 - unwatched),
      hi === null ? null : Math.min(1, hi + unwatched),
    );
    return { share: wide, n: long.n, whole: true };
  }
  const some = count((e) => isInside(span, e.armed_ns));
  const least = some.share.lo === null ? null : some.share.lo * (1 - unwatched);
  return { share: interval(null, least, null), n: some.n, whole: false };
}

function watchFigure(group: Group): Figure {
  const { uniform } = group;
  const period = group.span.turn_ns;
  const window = period === null ? DEFAULT_WINDOW_NS : TURNS * period;
  const { share, n, whole } = touchedShare(uniform, window);
  const peak = peakBytes(group.regions, group.span);
  return {
    metric: "working_set_bytes",
    source: "watch",
    estimate: capped(scaled(share, uniform.weights.total_bytes), peak),
    n,
    coverage: peak > 0 ? Math.min(1, uniform.weights.total_bytes / peak) : null,
    grain_bytes: 8,
    window_ns: window,
    method: `share of drawn bytes touched within ${period === null ? "100 ms" : "two decode calls (in prefill: two tokens)"} of a random moment, Clopper-Pearson at the effective sample size`,
    ...(whole ? {} : { bound: true, why: "too few watches are as long as the window" }),
  };
}

function sampledFigure(group: Group, sum: AccessSums, seen: SeenBlocks): Figure {
  const coverage = goodCoverage(seen.once, sum.rows);
  const thin = coverage !== null && coverage < LEAST_COVERAGE;
  const blocks = thin ? interval(null, null, null) : chao1(seen.distinct, seen.once, seen.twice, sum.rows);
  return {
    metric: "working_set_bytes",
    source: sum.source,
    // Blocks at the ends of a region hold bytes beside it: at large grains the whole may be more than what is mapped.
    estimate: capped(scaled(blocks, seen.grain_bytes), peakBytes(group.regions, group.span, blockGrain(seen))),
    n: sum.rows,
    coverage,
    grain_bytes: seen.grain_bytes,
    method: `Chao1 over blocks of ${seen.grain_bytes} B, log-normal interval, capped at the mapped size; a lower bound where some blocks are hotter; n counts samples`,
    ...(thin ? { why: "fewer than half of the accesses fall on blocks already seen" } : {}),
  };
}

/** Every region may begin and end inside a block; lines are taken for whole. */
const blockGrain = ({ grain_bytes }: SeenBlocks): number => (grain_bytes === LINE_BYTES ? 1 : grain_bytes);

function sampledFigures(group: Group): Figure[] {
  return group.sums.flatMap((sum) => sum.seen.map((seen) => sampledFigure(group, sum, seen)));
}

/** Of a trace that holds every access: what it touches from its first to its last. */
function everyFigures(group: Group): Figure[] {
  if (group.stream === null) return [];
  const { lines, pages } = group.stream;
  const grains = [
    [PAGE_BYTES, pages.distinct],
    [LINE_BYTES, lines.distinct],
  ] as const;
  return grains.map(([grain, count]) => ({
    metric: "working_set_bytes",
    source: IMPORT,
    estimate: interval(count * grain, count * grain, count * grain),
    n: count,
    coverage: 1,
    grain_bytes: grain,
    census: true,
    method: "census of the pages or lines touched in the whole trace; no sampling error",
  }));
}

export const workingSet: MetricFamily = {
  metrics: [
    {
      name: "working_set_bytes",
      unit: "bytes",
      definition:
        "Bytes of the class touched within window_ns: two decode calls (two tokens of a prefill), or 100 ms without a token axis (Denning's W). Sampled sources: in the whole span, in blocks of 64 B, 4 KiB, 64 KiB and 2 MiB (grain_bytes).",
      formula: "mean over moments t of the number of b that are touched in [t, t + window_ns)",
      averaged_over: "time",
    },
  ],
  estimator:
    "A watch begins at a random moment: the share of the watches as long as window_ns that see an access within it, times the bytes drawn. Where fewer than 30 are as long, the share that all of them see is a lower bound. Sampled sources: Chao1 per class and grain. Never above the mapped size, in whole blocks.",
  sources: [
    ["watch", "uniform draws of addresses at random times"],
    ["pebs", "distinct blocks of samples"],
    ["ibs", "distinct blocks of samples"],
    ["clock", "distinct blocks of samples"],
    [IMPORT, "distinct blocks of samples, or of every access"],
  ],
  not_by_sampling: null,
  suppressed: "n < 30; sampled sources: coverage below 0.5; loss above 1 %.",
  spans: "every",
  figures: (group) => [watchFigure(group), ...(group.stream === null ? sampledFigures(group) : everyFigures(group))],
};

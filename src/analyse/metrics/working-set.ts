/** Bytes touched within a window of time. */
import { chao1, goodCoverage } from "../../statistics/chao1.ts";
import { clopperPearson, effectiveSize } from "../../statistics/clopper-pearson.ts";
import { type Interval, interval, scaled } from "../../statistics/interval.ts";
import { recurrentSample, survivalAt } from "../../statistics/recurrent-survival.ts";
import { peakBytes } from "../input/class-bytes.ts";
import type { Group } from "../input/group.ts";
import type { AccessSums, SeenBlocks } from "../input/input.ts";
import { IMPORT } from "../stream/stream-figures.ts";
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

function watchFigure(group: Group): Figure {
  const { uniform } = group;
  const bytes = uniform.weights.bytes;
  const period = group.span.turn_ns;
  const window = period === null ? DEFAULT_WINDOW_NS : TURNS * period;
  const sample = recurrentSample(
    uniform.exposures.map((exposure) =>
      exposure.passes.count > 0
        ? { complete: [(exposure.passes.start_ns[0] ?? 0) - exposure.begin_ns], censored: [] }
        : { complete: [], censored: [exposure.end_ns - exposure.begin_ns] },
    ),
    bytes,
  );
  const untouched = survivalAt(sample, window);
  const n = effectiveSize(bytes);
  const share = Number.isNaN(untouched) ? interval(null, null, null) : clopperPearson((1 - untouched) * n, n);
  let early = 0;
  for (const exposure of uniform.exposures) {
    if (exposure.passes.count === 0 && exposure.end_ns - exposure.begin_ns < window) early += 1;
  }
  const peak = peakBytes(group.regions, group.span);
  return {
    metric: "working_set_bytes",
    source: "watch",
    estimate: capped(scaled(share, uniform.weights.total_bytes), peak),
    n: uniform.exposures.length,
    n_censored: early,
    coverage: peak > 0 ? Math.min(1, uniform.weights.total_bytes / peak) : null,
    grain_bytes: 8,
    window_ns: window,
    method: `share of drawn bytes touched within ${period === null ? "100 ms" : "two decode calls (in prefill: two tokens)"} of a random moment (KM of the first wait), Clopper-Pearson at the effective sample size`,
    ...(early > 0 ? { why: "watches shorter than the window" } : {}),
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
    },
  ],
  estimator:
    "The wait from a random moment to the first access is what a watch sees first: its distribution at window_ns, times the bytes drawn. Sampled sources: Chao1 per class and grain. Never above the mapped size, in whole blocks.",
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

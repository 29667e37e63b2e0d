/** What samples of accesses identify: how many loads and stores there are, and how often a line is accessed on average. */

import { type Interval, interval } from "../../statistics/interval.ts";
import { ratioInterval } from "../../statistics/ratio.ts";
import { peakBytes } from "../input/class-bytes.ts";
import type { Group } from "../input/group.ts";
import type { AccessSums } from "../input/input.ts";
import type { Figure, MetricFamily } from "../metrics/metric.ts";
import { IMPORT, NO_PERIOD, streamRatio } from "../stream/stream-figures.ts";

const LINE_BYTES = 64;
/** With samples of a kind in fewer blocks of time among empty ones, one of them would decide how wide an interval is. */
const FEWEST_BLOCKS = 10;

/** Why samples of one kind are too few for a figure of them, however many there are of another; null where they are enough. */
export function tooFewBlocks(kind: string, blocks: Float64Array, source: string): string | null {
  if (source === IMPORT) return null;
  const seen = blocks.reduce((count, accesses) => (accesses > 0 ? count + 1 : count), 0);
  return seen >= Math.min(FEWEST_BLOCKS, blocks.length)
    ? null
    : `samples of ${kind} in ${seen} blocks of time, fewer than ${FEWEST_BLOCKS}`;
}

/** Accesses per second: the sum of the periods (Horvitz and Thompson) over the span. */
function perSecond(group: Group, blocks: Float64Array, source: string): Interval {
  if (blocks.length === 0 || group.span.window_ns <= 0) return interval(null, null, null);
  const each = new Float64Array(blocks.length).fill(group.span.window_ns / 1e9 / blocks.length);
  if (source === IMPORT) return streamRatio(blocks, each);
  return ratioInterval(blocks, each, group.blocks(blocks.length));
}

/** Time times lines over accesses, with the ends of the rate the other way round. */
export function rateInversion(accessesPerSecond: Interval, lines: number): Interval {
  const invert = (rate: number | null): number | null =>
    rate !== null && rate > 0 && lines > 0 ? (1e9 * lines) / rate : null;
  return interval(invert(accessesPerSecond.value), invert(accessesPerSecond.hi), invert(accessesPerSecond.lo));
}

function figuresOf(group: Group, sum: AccessSums): Figure[] {
  const timer = sum.source === "clock";
  const all = sum.loads.map((loads, i) => loads + (sum.stores[i] ?? 0));
  const base = { source: sum.source, n: sum.rows };
  const how = sum.source === IMPORT ? "jackknife over blocks of time" : "BCa over tokens or blocks of time";
  const method = `Horvitz-Thompson by period, ${how}; n counts samples`;
  const why = timer ? "a timer counts time, not accesses" : sum.period_known ? null : NO_PERIOD;
  const no = why === null ? {} : { not_identifiable: true, why };
  const sizeless =
    sum.source === IMPORT ? { not_identifiable: true, why: "the trace does not say how large regions are" } : no;
  const lines = peakBytes(group.regions, group.span) / LINE_BYTES;
  const rate = (metric: string, kind: string, blocks: Float64Array): Figure => {
    const few = tooFewBlocks(kind, blocks, sum.source);
    const estimate = few === null ? perSecond(group, blocks, sum.source) : interval(null, null, null);
    return { ...base, metric, estimate, method, ...(few === null ? {} : { why: few }), ...no };
  };
  return [
    rate("loads_per_s", "loads", sum.loads),
    rate("stores_per_s", "stores", sum.stores),
    {
      ...base,
      metric: "iai_mean_ns",
      estimate:
        sum.source === IMPORT ? interval(null, null, null) : rateInversion(perSecond(group, all, sum.source), lines),
      grain_bytes: LINE_BYTES,
      method: `rate inversion: time x lines / accesses; ${method}`,
      ...sizeless,
    },
  ];
}

export const sampledRates: MetricFamily = {
  metrics: [
    {
      name: "loads_per_s",
      unit: "accesses/s",
      definition: "Loads of the class per second, as instructions.",
      formula: "number of loads in S / S",
      averaged_over: "time",
    },
    {
      name: "stores_per_s",
      unit: "accesses/s",
      definition: "Stores to the class per second, as instructions.",
      formula: "number of stores in S / S",
      averaged_over: "time",
    },
    {
      name: "iai_mean_ns",
      unit: "ns",
      definition: "Mean time between accesses to one 64 B line of the class, over all its lines.",
      formula: "1e9 S x lines / accesses in S",
      averaged_over: "accesses, as if all lines were alike",
    },
  ],
  estimator: "Sum of sampling periods per second; the mean interval is time x lines / accesses.",
  sources: [
    ["pebs", "samples of retired accesses, each standing for its period"],
    ["ibs", "samples of retired accesses, each standing for its period"],
    [IMPORT, "rows of a trace, where its period is known"],
  ],
  not_by_sampling: null,
  suppressed:
    "n < 30 samples; samples of the kind in fewer than 10 blocks of time, among empty ones; loss above 1 %; the clock source.",
  spans: "steps",
  figures: (group) => group.sums.flatMap((sum) => figuresOf(group, sum)),
};

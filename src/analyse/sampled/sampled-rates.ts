/** What samples of accesses identify: how many loads and stores there are, and how often a line is accessed on average. */

import { lostCount } from "../../schema/loss.ts";
import { carryingUnits } from "../../statistics/carrying-units.ts";
import { type Interval, interval } from "../../statistics/interval.ts";
import { ratioInterval } from "../../statistics/ratio.ts";
import { FEWEST } from "../figures/figure-row.ts";
import { meanBytes } from "../input/class-bytes.ts";
import type { Group } from "../input/group.ts";
import type { AccessSums } from "../input/input.ts";
import type { Figure, MetricFamily } from "../metrics/metric.ts";
import { FEWEST_GROUPS } from "../stream/jackknife.ts";
import { HIDDEN_STORES, IMPORT, streamRatio, whyNoPeriod } from "../stream/stream-figures.ts";
import { unknownAccesses, unknownReason, withUnknown } from "../stream/unknown-kinds.ts";
import { endsOfQuotient, endsOfSum } from "./sample-ends.ts";
import {
  type AccessKind,
  atMost,
  bothSums,
  isShadowed,
  type KindSums,
  kindSums,
  ofAllClasses,
  SHADOW,
} from "./shadow.ts";

const LINE_BYTES = 64;
/** With samples of a kind in fewer blocks of time among empty ones, one of them would decide how wide an interval is. */
const FEWEST_BLOCKS = 10;

/**
 * Why samples of one kind are too few for a figure of them, however many there are of another; null where they are enough.
 * @param isWhole true where they are all accesses: then none is none
 */
export function tooFewOf({ kind, accesses, rows }: KindSums, source: string, isWhole: boolean): string | null {
  if (isWhole) return null;
  if (source === IMPORT && accesses.length < FEWEST_GROUPS) {
    return `rows in ${accesses.length} blocks of time, fewer than ${FEWEST_GROUPS}`;
  }
  const seen = accesses.reduce((count, ofBlock) => (ofBlock > 0 ? count + 1 : count), 0);
  if (seen < Math.min(FEWEST_BLOCKS, accesses.length)) {
    return `samples of ${kind} in ${seen} blocks of time, fewer than ${FEWEST_BLOCKS}`;
  }
  // One or two in each block: how blocks differ does not tell how many there could have been.
  return rows < FEWEST ? `${rows} samples of ${kind}, fewer than ${FEWEST}` : null;
}

/** True where the rows are all accesses of the class, and not one in so many. */
export function isWholeTrace({ stream }: Group, { source }: AccessSums): boolean {
  return source === IMPORT && stream !== null;
}

/** Accesses per second: the sum of the periods (Horvitz and Thompson) over the span. */
function perSecond(group: Group, samples: KindSums, source: string): Interval {
  const blocks = samples.accesses;
  if (blocks.length === 0 || group.span.window_ns <= 0) return interval(null, null, null);
  const each = new Float64Array(blocks.length).fill(group.span.window_ns / 1e9 / blocks.length);
  if (source === IMPORT) return streamRatio(blocks, each);
  const seen = ratioInterval(blocks, each, group.blocks(blocks.length), carryingUnits(blocks));
  return endsOfSum(seen, samples, lostCount(group.input.ledger, source));
}

/** Time times lines over accesses, with the ends of the rate the other way round. */
export function rateInversion(accessesPerSecond: Interval, lines: number): Interval {
  const invert = (rate: number | null): number | null =>
    rate !== null && rate > 0 && lines > 0 ? (1e9 * lines) / rate : null;
  return interval(invert(accessesPerSecond.value), invert(accessesPerSecond.hi), invert(accessesPerSecond.lo));
}

/** How many loads a sampled class has for each store: instructions, whatever bytes they touch. */
function loadsPerStore(group: Group, sum: AccessSums, isMoved: boolean): Figure {
  const [loads, stores] = [kindSums(sum, "loads"), kindSums(sum, "stores")];
  const few = tooFewOf(loads, sum.source, false) ?? tooFewOf(stores, sum.source, false);
  const hasStores = sum.stores.some((stores) => stores > 0);
  const isKnown = hasStores && few === null && !isMoved && sum.source !== "clock";
  const why =
    sum.source === "clock"
      ? HIDDEN_STORES
      : !sum.period_known
        ? whyNoPeriod(sum)
        : isMoved
          ? SHADOW
          : hasStores
            ? null
            : "no store sampled";
  return {
    metric: "loads_per_store",
    source: sum.source,
    estimate: isKnown
      ? endsOfQuotient(
          ratioInterval(
            sum.loads,
            sum.stores,
            group.blocks(sum.loads.length),
            Math.min(carryingUnits(sum.loads), carryingUnits(sum.stores)),
          ),
          loads,
          stores,
          lostCount(group.input.ledger, sum.source),
        )
      : interval(null, null, null),
    n: sum.rows,
    method: "ratio of sums weighted by period, BCa over tokens or blocks of time; n counts samples",
    ...(few === null ? {} : { why: few }),
    ...(why === null ? {} : { not_identifiable: true, why }),
  };
}

function figuresOf(group: Group, sum: AccessSums): Figure[] {
  const timer = sum.source === "clock";
  const base = { source: sum.source, n: sum.rows };
  const how = sum.source === IMPORT ? "jackknife over blocks of time" : "BCa over tokens or blocks of time";
  const method = `Horvitz-Thompson by period, ${how}; n counts samples`;
  const why = timer ? "a timer counts time, not accesses" : sum.period_known ? null : whyNoPeriod(sum);
  const no = why === null ? {} : { not_identifiable: true, why };
  const sizeless =
    sum.source === IMPORT ? { not_identifiable: true, why: "the trace does not say how large regions are" } : no;
  // Of memory that comes and goes those that are there: at its peak the class has lines that nothing could access at other times.
  const lines = meanBytes(group.regions, group.span) / LINE_BYTES;
  const nothing = interval(null, null, null);
  const shadowed = { bound: true, why: SHADOW };
  const [loadsMoved, storesMoved] = (["loads", "stores"] as const).map((kind) => isShadowed(sum, kind, group.input));
  const hidden = unknownReason(sum);
  const samplesOf = (kind: AccessKind, isMoved: boolean | undefined): KindSums =>
    isMoved ? ofAllClasses(sum, kind, group.input) : kindSums(sum, kind);
  const rate = (kind: AccessKind, isMoved: boolean | undefined): Figure => {
    const samples = samplesOf(kind, isMoved);
    const few = tooFewOf(samples, sum.source, isWholeTrace(group, sum));
    const seen = few === null ? perSecond(group, samples, sum.source) : nothing;
    const open = hidden === null ? {} : { bound: true, why: hidden };
    const reason = few === null ? (isMoved ? shadowed : open) : { why: few };
    const most = withUnknown(seen, 1, (1e9 * unknownAccesses(sum)) / Math.max(1, group.span.window_ns));
    return { ...base, metric: `${kind}_per_s`, estimate: isMoved ? atMost(seen) : most, method, ...reason, ...no };
  };
  const isMoved = loadsMoved === true || storesMoved === true;
  const both = bothSums(samplesOf("loads", isMoved), samplesOf("stores", isMoved));
  const few = tooFewOf(both, sum.source, isWholeTrace(group, sum));
  const isTold = sum.source !== IMPORT && few === null;
  const mean = isTold ? rateInversion(perSecond(group, both, sum.source), lines) : nothing;
  return [
    rate("loads", loadsMoved),
    rate("stores", storesMoved),
    {
      ...base,
      metric: "iai_mean_ns",
      estimate: isMoved ? interval(null, mean.lo, null) : mean,
      grain_bytes: LINE_BYTES,
      method: `rate inversion: time x lines / accesses; ${method}`,
      ...(few !== null ? { why: few } : isMoved ? shadowed : {}),
      ...sizeless,
    },
    ...(sum.source === IMPORT ? [] : [loadsPerStore(group, sum, isMoved)]),
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
      definition:
        "Mean time between accesses to one 64 B line of the class, over all its lines, each for the time that it is there.",
      formula: "1e9 S x lines that are there in the mean of S / accesses in S",
      averaged_over: "accesses, as if all lines were alike",
    },
    {
      name: "loads_per_store",
      unit: "loads/store",
      definition:
        "Loads of the class over stores to it, as instructions: one may touch a byte or 64, and a pass over a byte may take several. It is not reads per write.",
      formula: "number of loads in S / number of stores in S",
      averaged_over: "stores",
    },
  ],
  estimator: [
    "Sum of sampling periods per second; the mean interval is time x lines / accesses, where the lines are those that are there in the mean of that time.",
    "Its ends are a sample's period away at least, however alike the blocks of time are, and the upper one takes each sample that was lost for one of the class.",
    "With fewer than 30 samples nothing is told, so that those with hardly more may have them by luck: the lower end is that of a count of which 30 and more are told alone (a truncated Poisson distribution, Cohen, Biometrika 41, 1954), and next to nothing of 30.",
    "Where samples of PEBS may stand for neighbours of the accesses that they count, which is so below its highest precise level, all classes together bound the rates of each: docs/decisions/029-shadows-of-samples.md.",
    "Rows of a trace that are neither told as loads nor as stores may be either: intervals have room for them, and above 1 % of the rows there are bounds only. So it is of what is told by loads and stores; ages and retention are not told then.",
  ],
  sources: [
    ["pebs", "samples of retired accesses, each standing for its period"],
    ["ibs", "samples of retired accesses, each standing for its period"],
    [IMPORT, "rows of a trace, where its period is known"],
  ],
  not_by_sampling: null,
  suppressed:
    "n < 30 samples; fewer than 30 samples of the kind, or rows of a trace that does not hold every access; samples of it in fewer than 10 blocks of time, among empty ones; loss above 1 %; the clock source. PEBS with a shadow: upper ends of rates alone, and no loads per store.",
  spans: "steps",
  figures: (group) => group.sums.flatMap((sum) => figuresOf(group, sum)),
};

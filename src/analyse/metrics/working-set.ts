/** Bytes touched within a window of time. */
import { lostCount } from "../../schema/loss.ts";
import { goodCoverage } from "../../statistics/chao1.ts";
import { weightedProportion } from "../../statistics/clopper-pearson.ts";
import { CI_Z, type Interval, interval, scaled } from "../../statistics/interval.ts";
import { formatBytes } from "../../units.ts";
import { FEWEST } from "../figures/figure-row.ts";
import { peakBytes } from "../input/class-bytes.ts";
import type { Group } from "../input/group.ts";
import type { AccessSums, SeenBlocks } from "../input/input.ts";
import { coveredNs, isInside } from "../input/span.ts";
import type { WatchSet } from "../input/watch-set.ts";
import { IMPORT } from "../stream/stream-figures.ts";
import { touchableBytes } from "../watched/block-lives.ts";
import type { Exposure } from "../watched/exposure.ts";
import { bornPerSecond } from "../watched/first-writes.ts";
import { untoldMoments } from "../watched/unwatched.ts";
import { type Figure, type MetricFamily, notIdentifiable } from "./metric.ts";

const LINE_BYTES = 64;
const PAGE_BYTES = 4096;
/** Window where there is no token axis. */
const DEFAULT_WINDOW_NS = 100e6;
/** Of the bytes drawn: above this share of them that come within a window it is a bound. */
const MOST_BORN = 0.01;
/** Two decode calls: what every call touches is then inside, whatever the phase of the window. */
const TURNS = 2;

function capped(uncapped: Interval, most: number): Interval {
  const cap = (x: number | null): number | null => (x === null || most <= 0 ? x : Math.min(x, most));
  return interval(cap(uncapped.value), cap(uncapped.lo), cap(uncapped.hi));
}

/** With fewer watches as long as the window a law says nothing of the moments at which it held. */
const FEWEST_OF_LAW = 10;
/** Above this share of the moments of which too few are as long it is a bound: what goes on then is anybody's guess. */
const MOST_MISSING = 0.02;
const TOO_FEW = "too few watches are as long as the window";

/**
 * Where watches were given time by several laws, as many of one are as long as the window as fits its law, whatever share of the run it held for.
 * @returns what each exposure that is so long counts for, and the share of the moments of which too few are
 */
function eachLaw(
  { law, weights }: WatchSet,
  begun: readonly number[],
  long: readonly number[],
): { times: readonly number[]; missing: number } {
  if (law.every((number) => number === 0)) return { times: [], missing: 0 };
  const sumOf = (some: readonly number[]): number => some.reduce((sum, i) => sum + (weights.bytes[i] ?? 0), 0);
  const ofLaw = Map.groupBy(long, (i) => law[i] ?? 0);
  const times: number[] = [];
  let missing = 0;
  for (const [number, members] of Map.groupBy(begun, (i) => law[i] ?? 0)) {
    const those = ofLaw.get(number) ?? [];
    const share = sumOf(members) / sumOf(begun);
    if (those.length < FEWEST_OF_LAW) missing += share;
    else for (const i of those) times[i] = share / (sumOf(those) / sumOf(long));
  }
  // One that says nothing has no share of those that are told.
  for (const i of long) times[i] ??= 0;
  return { times, missing };
}

/** The share of the bytes drawn that was touched within the window; of shorter watches what that share is at least, and no more than all. */
function touchedShare(set: WatchSet, window: number): { share: Interval; n: number; few: string | null } {
  const { exposures, weights, span } = set;
  const untold = untoldMoments(set);
  // Between two pieces of the span is other work: what that touches is not in it.
  const isWhole = (from: number, end: number): boolean =>
    isInside(span, from) && coveredNs(span, from, end) === end - from;
  // Of a byte that is freed within the window all is seen, as none touches it later; who was given less time would count for that alone.
  const fits = (e: Exposure): boolean =>
    isWhole(e.armed_ns, e.armed_ns + window) &&
    (e.armed_ns + window <= e.window_end_ns || (e.freed_ns <= e.armed_ns + window && window <= e.watch.dwell_limit_ns));
  const touched = ({ passes, armed_ns }: Exposure): boolean => {
    const first = passes.start_ns[0] ?? Number.POSITIVE_INFINITY;
    return passes.count > 0 && first <= armed_ns + window && isWhole(armed_ns, first);
  };
  const count = (members: readonly number[], times: readonly number[]): Interval =>
    weightedProportion(
      members.map((i) => (exposures[i] !== undefined && touched(exposures[i]) ? 1 : 0)),
      members.map((i) => (weights.bytes[i] ?? 0) * (times[i] ?? 1)),
    );
  const begun = [...exposures.keys()].filter(
    (i) => exposures[i] !== undefined && isInside(span, exposures[i].armed_ns),
  );
  const long = begun.filter((i) => exposures[i] !== undefined && fits(exposures[i]));
  if (long.length >= FEWEST) {
    const { times, missing } = eachLaw(set, begun, long);
    const { value, lo, hi } = count(long, times);
    const unknown = untold + (1 - untold) * missing;
    const wide = interval(
      value,
      lo === null ? null : lo * (1 - unknown),
      hi === null ? null : Math.min(1, hi + unknown),
    );
    if (missing <= MOST_MISSING) return { share: wide, n: long.length, few: null };
    const few = `too few watches are as long as the window in ${Math.round(100 * missing)} % of the time`;
    return { share: interval(null, wide.lo, wide.hi), n: long.length, few };
  }
  const some = { share: count(begun, []), n: begun.length };
  const least = some.share.lo === null ? null : some.share.lo * (1 - untold);
  return { share: interval(null, least, least !== null && least > 0 ? 1 : null), n: some.n, few: TOO_FEW };
}

export interface WindowTouched {
  readonly estimate: Interval;
  /** Watches that tell. */
  readonly n: number;
  /** Whether enough of them are as long as the window, whatever went on. */
  readonly whole: boolean;
  /** Why it is no more than a bound; null where there is a value. */
  readonly why: string | null;
}

/** The window of the figure, ns. */
export function figureWindow({ span: { turn_ns } }: Group): number {
  return turn_ns === null ? DEFAULT_WINDOW_NS : TURNS * turn_ns;
}

/** Bytes of the class touched within a window: never more than are mapped, and what came into being while it lasted. */
export function touchedWithin(group: Group, window: number): WindowTouched {
  const { uniform, regions, span } = group;
  const bytes = uniform.weights.total_bytes;
  const { share, n, few } = touchedShare(uniform, window);
  // What comes while the window lasts was not there to be drawn when it began.
  const born = (bornPerSecond(group) * window) / 1e9;
  const none = share.value === 0 ? `none of ${n} watched words was used within the window` : null;
  const why =
    few ?? none ?? (born > MOST_BORN * bytes ? `${formatBytes(born)} come into being within the window` : null);
  // Draws tell the mean bytes of the span; at the moments from which a window fits into it there may have been less, or more, but no more than at the peak.
  const left = bytes < peakBytes(regions, span) ? Math.max(0, 1 - window / span.window_ns) : 1;
  const off = CI_Z * uniform.bytes_error();
  // Nor do draws tell what there was while nothing was looked at, or was gone before they met it.
  const most = ((1 + off) * (1 + uniform.unwatched)) / Math.max(Number.EPSILON, 1 - uniform.young);
  const moments = interval(
    share.value,
    share.lo === null ? null : share.lo * left * Math.max(0, 1 - off),
    share.hi === null ? null : (share.hi / left) * most,
  );
  const { value, lo, hi } = capped(scaled(moments, bytes), peakBytes(regions, span));
  const estimate = interval(why === null ? value : null, lo, hi === null ? null : hi + born);
  return { estimate, n, whole: few === null, why };
}

const NO_PIECE = "no two of its steps follow each other, so that none of it is as long as the window";

function watchFigure(group: Group): Figure {
  const window = figureWindow(group);
  const { span } = group;
  const isAnyWhole = span.begin_ns.some((begin, i) => (span.end_ns[i] ?? begin) - begin >= window);
  if (span.turn_ns !== null && !isAnyWhole) {
    return notIdentifiable("working_set_bytes", "watch", group.uniform.exposures.length, NO_PIECE);
  }
  const { estimate, n, why } = touchedWithin(group, window);
  const peak = peakBytes(group.regions, group.span);
  return {
    metric: "working_set_bytes",
    source: "watch",
    estimate,
    n,
    coverage: peak > 0 ? Math.min(1, group.uniform.weights.total_bytes / peak) : null,
    grain_bytes: 8,
    window_ns: window,
    method: `share of drawn bytes touched within ${group.span.turn_ns === null ? "100 ms" : "two decode calls (in prefill: two tokens)"} of a random moment, Clopper-Pearson at the effective sample size`,
    ...(why === null ? {} : { bound: true, why }),
  };
}

/**
 * What samples fell on was touched, and no more than what was mapped at some moment of the span can have been. How much lies between nobody can tell
 * from samples: they come at even distances, and blocks are not equally hot, so that estimates of unseen classes err by far.
 */
function sampledFigure(group: Group, sum: AccessSums, seen: SeenBlocks): Figure {
  const { grain_bytes, distinct, once } = seen;
  const mapped = touchableBytes(group.regions, group.span, grain_bytes);
  const least = mapped > 0 ? Math.min(distinct * grain_bytes, mapped) : distinct * grain_bytes;
  const isWhole = least === mapped;
  return {
    metric: "working_set_bytes",
    source: sum.source,
    estimate: interval(isWhole ? mapped : null, least, mapped > 0 ? mapped : null),
    n: sum.rows,
    coverage: goodCoverage(once, sum.rows),
    grain_bytes,
    method: `blocks of ${grain_bytes} B on which samples fell, to those that were mapped; n counts samples`,
    ...(isWhole ? {} : { bound: true, why: "samples do not tell what they never fell on" }),
  };
}

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
  // Of rows that were lost each may be the only one of its page or line.
  const lost = lostCount(group.input.ledger, IMPORT);
  return grains.map(([grain, count]) => ({
    metric: "working_set_bytes",
    source: IMPORT,
    estimate: interval(lost > 0 ? null : count * grain, count * grain, (count + lost) * grain),
    ...(lost > 0 ? { bound: true, why: `${lost} rows of the trace are missing` } : {}),
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
        "Bytes of the class touched within window_ns: two decode calls (two tokens of a prefill), or 100 ms without a token axis (Denning's W). Sampled sources: in the whole span, in blocks of 64 B, 4 KiB, 64 KiB and 2 MiB (grain_bytes). By watches a byte of shared memory counts for each mapping through which it is touched.",
      formula: "mean over moments t of the number of b that are touched in [t, t + window_ns)",
      averaged_over: "time",
    },
  ],
  estimator: [
    "A watch begins at a random moment: the share of the watches as long as window_ns, or whose bytes are freed within it, that see an access within it, times the bytes drawn.",
    "Moments in which nothing was looked at, or memory was too young to be drawn, and watches of which a trap was lost may have seen an access or none.",
    "Watches are given more time while tokens are long: those of each law by which they were given it count by the time in which it held, and where fewer than 10 of one are as long as window_ns, in more than 2 % of the moments, there are bounds.",
    "Where fewer than 30 are as long, the share that all of them see is a lower bound, and what is mapped an upper one.",
    "Never above the mapped size, but for bytes that come into being within the window, which the upper end holds: above 1 % of the bytes there are bounds.",
    "Where no watch saw an access it has an upper end only.",
    "Sampled sources: from the blocks on which samples fell, per class and grain, to all that were mapped at some moment of the span; a value where that is the same.",
  ],
  sources: [
    ["watch", "uniform draws of addresses at random times"],
    ["pebs", "bounds: blocks on which samples fell"],
    ["ibs", "bounds: blocks on which samples fell"],
    ["clock", "bounds: blocks on which samples fell"],
    [IMPORT, "bounds, as of samples; a value where the trace holds every access"],
  ],
  not_by_sampling: null,
  suppressed: "n < 30; loss above 1 %. Not identifiable of steps of which no two follow each other.",
  spans: "every",
  figures: (group) => [watchFigure(group), ...(group.stream === null ? sampledFigures(group) : everyFigures(group))],
};

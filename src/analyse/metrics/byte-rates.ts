/** Bytes read and written per second, and passes per byte and token: one rate in four units. */
import { resample } from "../../statistics/bootstrap.ts";
import { CI_Z, type Interval, interval, scaled } from "../../statistics/interval.ts";
import { ratioInterval } from "../../statistics/ratio.ts";
import { FEWEST } from "../figures/figure-row.ts";
import { someRow } from "../input/chosen-rows.ts";
import { drawnShare, firstSeenNs, meanBytes } from "../input/class-bytes.ts";
import type { Group } from "../input/group.ts";
import { coveredNs } from "../input/span.ts";
import type { WatchSet } from "../input/watch-set.ts";
import { isUnwritable, writeRights } from "../input/write-rights.ts";
import { type KvStepSums, kvStepSums } from "../steps/kv-step-sums.ts";
import { sumsOfNeighbours } from "../steps/neighbours.ts";
import { sharedReason, sharedRows } from "../steps/shared-rows.ts";
import { echoReason, isLoud } from "../watched/counting/arming-echo.ts";
import { CUT, MOST_CUT } from "../watched/counting/count-window.ts";
import { tooFewOfUnnamed } from "../watched/few-watches.ts";
import { bornWrittenPerSecond, firstWritesReason, MOST_FIRST_WRITES } from "../watched/first-writes.ts";
import { isParted, partedReason } from "../watched/parted-passes.ts";
import { BUSIER, MOST_BUSIER } from "../watched/rate/busier-bytes.ts";
import {
  fewHold,
  isHeldByFew,
  MOST_UNKNOWN,
  type PassKind,
  type PassRate,
  passRate,
  seenOutside,
} from "../watched/rate/pass-rate.ts";
import { MOST_UNDRAWN, UNDRAWN } from "../watched/rate/undrawn-passes.ts";
import { missedPasses } from "../watched/unwatched.ts";
import { type Figure, type MetricFamily, NEED_IS_LESS, notIdentifiable, noWriteReason } from "./metric.ts";
import { rateEstimator } from "./rate-words.ts";

/** Fewer addresses with a pass have an interval of their own, by their share. */
const FEW_SEEN = 10;
/** Of steps more uneven than this so many stand still while the tracer is at work that what a window holds of them by time tells nothing of their passes. */
const MOST_UNEVEN = 1.5;
const UNEVEN = "steps are of very uneven length, and too few watches hold whole ones";
/** Where fewer addresses that count alike than this share of the windows carry a rate, some of the busiest were drawn. */
const FEW_OF_ALL = 0.1;

interface Rate {
  readonly rate: Interval;
  readonly bound: boolean;
  readonly why?: string;
}

/** The rate, or the bounds within which it lies. */
function boundedRate(group: Group, kind: PassKind, passes: PassRate): Rate {
  const set = kind === "read" ? group.uniform : group.stores;
  if (passes.unknown > MOST_UNKNOWN) {
    const most = passRate(set, kind, true, passes.axis);
    const why = `${Math.round(100 * passes.unknown)} % of the passes may have read or written`;
    return { rate: { value: null, lo: passes.rate.lo, hi: most.rate.hi }, bound: true, why };
  }
  const missed = missedPasses(set);
  if (missed !== null) {
    return { rate: { value: null, lo: passes.rate.lo, hi: null }, bound: true, why: missed };
  }
  if (passes.n_counted > 0 && passes.uneven > MOST_UNEVEN)
    return { rate: interval(null, null, null), bound: false, why: UNEVEN };
  // Windows that are empty, though many watches saw one, are those that were short enough for it.
  const isEmptied = passes.n_counted === 0 && passes.n_seen >= FEW_SEEN;
  if (passes.cut > MOST_CUT || isEmptied)
    return { rate: { value: null, lo: passes.least, hi: null }, bound: true, why: CUT };
  if (isLoud(passes.echo)) {
    const lo = passes.n_counted < FEW_SEEN ? passes.least : Math.max(passes.rate.lo ?? 0, passes.least);
    const ends = passes.echo > 0 ? { lo, hi: null } : { lo: 0, hi: passes.rate.hi };
    return { rate: { value: null, ...ends }, bound: true, why: echoReason(passes.echo) };
  }
  if (passes.n_counted >= FEW_SEEN && isHeldByFew(passes)) {
    return { rate: { value: null, lo: passes.rate.lo, hi: null }, bound: true, why: fewHold(passes.n_windows) };
  }
  if (passes.n_counted >= FEW_SEEN && passes.undrawn > MOST_UNDRAWN) {
    return { rate: { ...passes.rate, value: null }, bound: true, why: UNDRAWN };
  }
  if (passes.busier > MOST_BUSIER) return { rate: { ...passes.rate, value: null }, bound: true, why: BUSIER };
  if (passes.n_counted > 0 && passes.n_counted < FEW_SEEN) {
    const why = `${passes.n_counted} of ${passes.n} watched addresses show one in the time in which passes are counted`;
    return { rate: { ...passes.rate, value: null, lo: passes.least }, bound: true, why };
  }
  if (isParted(passes.parted))
    return { rate: { ...passes.rate, value: null }, bound: true, why: partedReason(passes.parted) };
  if (passes.n_counted > 0 && passes.rate.value !== 0) return { rate: passes.rate, bound: false };
  if (passes.n_seen > 0) {
    const why = seenOutside(passes.n_seen, passes.n);
    return { rate: { ...passes.rate, value: null, lo: passes.least }, bound: true, why };
  }
  const none = kind === "write" ? noWriteReason(group) : "no read seen";
  return { rate: passes.rate, bound: true, why: `${none}: 0 of ${passes.n} watched addresses` };
}

/**
 * The rate, or no more than its lower end where that is told by time and by too few watches. Where a few of them carry it, some were drawn of the
 * busiest bytes, and its upper end has room for more of these.
 */
function byEnough(set: WatchSet, { n_counted, n_effective, n_windows, busier }: PassRate, rate: Rate): Rate {
  if (n_counted < FEW_SEEN || (busier > 0 && n_effective < FEW_OF_ALL * n_windows)) return rate;
  const few = tooFewOfUnnamed(set);
  if (few === null || rate.rate.hi === null) return rate;
  return { rate: interval(null, rate.rate.lo, null), bound: true, why: rate.why ?? few };
}

/**
 * The rate of writes with room above for those that nobody can have seen, or bounds where these may be too many of all for what was seen to be a value.
 * @param born such writes per byte and unit, one for each byte that came into being
 */
function withFirstWrites({ rate, bound, why }: Rate, born: number): Rate {
  const share = rate.value === null || born <= 0 ? 0 : born / (born + rate.value);
  const hi = rate.hi === null ? null : rate.hi + born;
  if (bound || share <= MOST_FIRST_WRITES) return { rate: { ...rate, hi }, bound, ...(why ? { why } : {}) };
  return { rate: interval(null, rate.lo, hi), bound: true, why: firstWritesReason(share) };
}

/**
 * A rate per byte as one of bytes of which the number is known up to a share, for which the interval has room: of two estimates that are
 * independent for a value (MOVER), of both ends for a bound.
 */
function withBytesOff({ value, lo, hi }: Interval, off: number): Interval {
  if (off === 0) return { value, lo, hi };
  if (value === null)
    return interval(null, lo === null ? null : lo * Math.max(0, 1 - off), hi === null ? null : hi * (1 + off));
  const away = (end: number): number => Math.hypot(end - value, off * value);
  return interval(value, lo === null ? null : Math.max(0, value - away(lo)), hi === null ? null : value + away(hi));
}

/**
 * Bytes per second in a part of a span, judged as in all of it.
 * @param part of the span of the group, with the watches in it
 * @param born first writes in it that no watch can see, at most, bytes
 */
export function bytesPerSecondIn(group: Group, kind: PassKind, part: WatchSet, born: number): Rate & { n: number } {
  const passes = passRate(part, kind);
  const bounded = boundedRate({ ...group, span: part.span, uniform: part, stores: part }, kind, passes);
  // Whether its bytes are those of tensors the steps of all of it say.
  const steps = group.span.steps;
  const seen = byEnough({ ...part, span: { ...part.span, steps } }, passes, bounded);
  const bytes = part.weights.total_bytes;
  const perByte = bytes > 0 ? (1e9 * born) / Math.max(1, part.span.window_ns) / bytes : 0;
  const { rate, ...judged } = withFirstWrites(seen, perByte);
  return { ...judged, rate: scaled(withBytesOff(rate, CI_Z * part.bytes_error()), bytes), n: passes.n };
}

function watchFigure(group: Group, kind: PassKind, metric: string, perToken: boolean): Figure {
  const set = kind === "read" ? group.uniform : group.stores;
  const { tokens, window_ns } = group.span;
  const passes = passRate(set, kind, false, tokens === null ? "seconds" : "tokens");
  const seen = byEnough(set, passes, boundedRate(group, kind, passes));
  const bytes = set.weights.total_bytes;
  // How often the axis of the passes has its unit in a second.
  const perSecond = tokens === null ? 1 : tokens / (window_ns / 1e9);
  const born = kind === "write" && bytes > 0 ? bornWrittenPerSecond(group) / bytes / perSecond : 0;
  const { rate, bound, why } = withFirstWrites(seen, born);
  const share = drawnShare(bytes, group.regions, group.span);
  return {
    metric,
    source: "watch",
    estimate: perToken ? rate : scaled(withBytesOff(rate, CI_Z * set.bytes_error()), bytes * perSecond),
    n: passes.n,
    coverage: share ?? 1,
    grain_bytes: 8,
    bound,
    method: `Hansen-Hurwitz mean over bytes of ${kind} passes, counted in a common window, BCa over addresses (${passes.n_counted} with such a pass)`,
    ...(why ? { why } : {}),
  };
}

/** Of memory that the process had mapped without the right to write: none, which is no estimate. */
function unwritableFigure(group: Group, metric: string): Figure {
  return {
    metric,
    source: "region_map",
    estimate: interval(0, 0, 0),
    n: writeRights(group).regions,
    coverage: 1,
    census: true,
    method: "none: all bytes lie in files that the process had mapped without the right to write; n counts regions",
  };
}

const REWRITTEN = "rows were rewritten in their places, or may have been: each is counted with its first write";

const RESTORED =
  "rows came back from what the engine had saved: those that it gave up again before a step had them are not told";

/** Share of the tokens whose step is not known to have written a row: each token that is decoded writes one. */
function untoldShare({ written_bytes, tokens, cut_tokens }: KvStepSums): number {
  let all = cut_tokens;
  let untold = cut_tokens;
  tokens.forEach((count, i) => {
    all += count;
    if (written_bytes[i] === 0) untold += count;
  });
  return all > untold ? untold / all : 0;
}

function stepFigure(group: Group, kind: PassKind, metric: string, perToken: boolean): Figure {
  // Before the engine told where its cache lies, it did not tell what its steps wrote there.
  const from_ns = firstSeenNs(group.regions);
  const steps = group.input.steps.filter(({ end_ns }) => !(end_ns <= from_ns));
  const sums = kvStepSums(group.kvRows, steps, group.span);
  const top = kind === "read" ? sums.needed_bytes : sums.written_bytes;
  // Of the class, as the watches have it: rows that are not filled are bytes too.
  const classBytes = meanBytes(group.regions, group.span, from_ns);
  const window_ns = coveredNs(group.span, from_ns, Number.POSITIVE_INFINITY);
  const bottom = perToken
    ? sums.tokens.map((tokens) => tokens * classBytes)
    : new Float64Array(top.length).fill(window_ns / 1e9 / Math.max(1, top.length));
  const [tops, bottoms] = [sumsOfNeighbours(top), sumsOfNeighbours(bottom)];
  const estimate = ratioInterval(tops, bottoms, resample(new Uint8Array(tops.length), group.input.seed, 1000));
  const isRead = kind === "read";
  const most = estimate.hi === null ? null : estimate.hi / (1 - untoldShare(sums));
  // A shift of the context rewrites keys where they lie: how often a row was is not told by the step that wrote it first.
  const isRewritten = someRow(group.kvRows, ({ writes }) => writes !== "once");
  const { kvEarly = null } = group.input;
  const isLeast = isRead || isRewritten || sums.isRestored || kvEarly !== null;
  const why = [
    ...(isRead ? [NEED_IS_LESS] : isRewritten ? [REWRITTEN] : sums.isRestored ? [RESTORED] : []),
    ...(kvEarly === null ? [] : [kvEarly.why]),
    ...(isRead ? sharedReason(sharedRows(group.kvRows)) : []),
  ].join("; ");
  return {
    metric,
    source: "step",
    // A step loads a row that it needs once at least: for each head of a group, or row of queries, once more perhaps.
    estimate: isLeast ? interval(null, estimate.lo, null) : interval(estimate.value, estimate.lo, most),
    ...(isLeast ? { bound: true } : {}),
    ...(isLeast && top.length >= FEWEST ? { why } : {}),
    n: top.length,
    coverage: 1,
    method: `KV rows that the engine's steps ${isRead ? "need" : "write"}, ${perToken ? "over the bytes of the class, " : ""}BCa over steps; n counts steps`,
  };
}

function family(kind: PassKind, perToken: boolean): MetricFamily {
  const name = perToken ? `${kind}s_per_byte_per_token` : `${kind}_bytes_per_s`;
  const verb = kind === "read" ? "read" : "written";
  const figures = (group: Group): Figure[] => {
    if (perToken && group.span.tokens === null) return [];
    const out = [watchFigure(group, kind, name, perToken)];
    if (kind === "write" && isUnwritable(group)) out.unshift(unwritableFigure(group, name));
    if (group.kvUntold !== null) {
      const none = notIdentifiable(name, "step", 0, group.kvUntold);
      if (kind === "write") out.unshift(none);
      else out.push(none);
    } else if (group.kvRows.length > 0 && group.input.steps.length > 0) {
      const step = stepFigure(group, kind, name, perToken);
      if (kind === "write") out.unshift(step);
      else out.push(step);
    }
    return out;
  };
  return {
    metrics: [
      {
        name,
        unit: perToken ? "passes/byte/token" : "bytes/s",
        definition: perToken
          ? `How many passes that ${kind === "read" ? "read" : "write"} go over a byte of the class per token that is decoded, or of the prompt in a prefill; sequences decoded together share a pass.`
          : `Bytes of the class ${verb} per second of the phase, pauses included, each byte once per pass, above the caches.`,
        formula: `sum over b of ${kind === "read" ? "R" : "W"}(b) / ${perToken ? "(B N)" : "S"}`,
        averaged_over: perToken ? "bytes and tokens" : "time",
      },
    ],
    estimator: rateEstimator(kind, perToken),
    sources:
      kind === "write"
        ? [
            ["step", "the engine's batches say which KV rows they write"],
            ["region_map", "files that the process maps without the right to write"],
            ["watch", "uniform draws of addresses, loads told from stores"],
          ]
        : [
            ["watch", "uniform draws of addresses, loads told from stores"],
            [
              "step",
              "bound from below: a step needs the KV rows of the sequences in its batch, those that they may share as often as the one with the most has them",
            ],
          ],
    not_by_sampling: "a sample has an address but not the bytes that the instruction touches",
    suppressed:
      "n < 30 addresses; without the tensors of an engine fewer than some 91 (4 % of the bytes may be busier ones of which none was drawn), unless a few busy ones were drawn: a lower bound; none with such a pass: an upper bound; few long watches that hold most of the time, more than 2 % of the bytes and time too young to be drawn, or gone before a draw met them, or bytes used so often that no window is short enough: a lower bound; for each token, steps of very uneven length of which few watches hold a whole one: nothing; more than 1 % of the passes neither known as read nor as write, or more than 5 % of the writes first ones of memory that came in the span, or more than 20 % of the passes so near the one before that traps may have parted them: bounds; loss above 1 %.",
    spans: perToken ? "steps" : "every",
    figures,
  };
}

export const readBytesPerSecond = family("read", false);
export const writeBytesPerSecond = family("write", false);
export const readsPerBytePerToken = family("read", true);
export const writesPerBytePerToken = family("write", true);

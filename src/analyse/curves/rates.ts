/** Reads and writes over time: bytes per second by watches or by the engine's steps, accesses per second by samples. */
import { CENSORED } from "../../label/regions/places.ts";
import { lostCount } from "../../schema/loss.ts";
import { CI_LEVEL, interval } from "../../statistics/interval.ts";
import { leastMean, mostMean } from "../../statistics/poisson-mean.ts";
import { studentQuantile } from "../../statistics/student.ts";
import { FEWEST, rowOf } from "../figures/figure-row.ts";
import type { Group } from "../input/group.ts";
import type { AccessSums } from "../input/input.ts";
import { coveredNs, type Span, spanOf } from "../input/span.ts";
import { setWithin } from "../input/watch-set.ts";
import { bytesPerSecondIn } from "../metrics/byte-rates.ts";
import { isWholeTrace, tooFewOf } from "../sampled/sampled-rates.ts";
import { isShadowed, kindSums, SHADOW } from "../sampled/shadow.ts";
import { kvStepSums } from "../steps/kv-step-sums.ts";
import { whyNoPeriod } from "../stream/stream-figures.ts";
import { isOfTensors } from "../watched/few-watches.ts";
import { writtenAsTouched } from "../watched/first-writes.ts";
import type { PassKind } from "../watched/rate/pass-rate.ts";
import { type Curve, type CurveOf, type CurvePoint, curveOfFigure, printedRow } from "./curve.ts";

const MOST_BINS = 24;
/** Watches to a bin, so that nearly each has as many as a figure needs. */
const WATCHES_PER_BIN = 2 * FEWEST;
/** The same of memory of which no engine names the tensors: a figure of it needs some 91. */
const UNNAMED_PER_BIN = 4 * FEWEST;
/** Blocks of time to a bin of samples: how they differ is its interval. */
const BLOCKS_PER_BIN = 8;
const MOST_SAMPLED_BINS = 100;
/** Stream of the random numbers for bins. */
const STREAM = 4096;

/** The time of a span from its first moment to its last, in bins of one length. */
function bins({ begin_ns, end_ns }: Span, count: number): readonly (readonly [from: number, end: number])[] {
  const from = begin_ns[0] ?? 0;
  const length = ((end_ns[end_ns.length - 1] ?? 0) - from) / count;
  return Array.from({ length: count }, (_, i) => [from + i * length, from + (i + 1) * length] as const);
}

/** What of a span lies from one moment to another. */
function within({ phase, step, begin_ns, end_ns }: Span, from: number, end: number): Span {
  const pieces = Array.from(begin_ns, (begin, i) => [Math.max(begin, from), Math.min(end_ns[i] ?? 0, end)] as const);
  return spanOf(
    phase,
    step,
    pieces.filter(([begin, last]) => last > begin).map(([begin, last]) => [begin, last]),
  );
}

/**
 * Bytes that came into being in each bin, at most: they are written once at least before a watch can be drawn from them. When pages were touched
 * first is not told, so that all of them may have been in any bin.
 */
function bornBytes(group: Group, count: number): Float64Array {
  const {
    regions: { all, rows },
    span,
  } = group;
  const born = new Float64Array(count);
  const from = span.begin_ns[0] ?? 0;
  const end = span.end_ns[span.end_ns.length - 1] ?? 0;
  for (const row of rows) {
    const birth = all.birth_ns[row] as number;
    const isOld = ((all.censored[row] as number) & (CENSORED.birth | CENSORED.came)) !== 0;
    if (isOld || birth <= from || birth > end) continue;
    const bin = Math.min(count - 1, Math.floor((count * (birth - from)) / (end - from)));
    born[bin] = (born[bin] as number) + (all.end[row] as number) - (all.begin[row] as number);
  }
  const touched = writtenAsTouched(group);
  return born.map((mapped) => Math.max(mapped, touched));
}

function watchPoints(group: Group, kind: PassKind): CurvePoint[] | string {
  const { input, span } = group;
  const set = kind === "read" ? group.uniform : group.stores;
  const watched = set.exposures.length;
  const each = isOfTensors(set) ? WATCHES_PER_BIN : UNNAMED_PER_BIN;
  const count = Math.min(MOST_BINS, Math.floor(watched / each));
  if (count < 2) return `${watched} watches: two bins of time need ${2 * each}`;
  const born = kind === "write" ? bornBytes(group, count) : new Float64Array(count);
  return bins(span, count).map(([x, x_end], i) => {
    const some = setWithin(set, within(span, x, x_end), input.seed, STREAM + i);
    const { n, rate, why } = bytesPerSecondIn(group, kind, some, born[i] ?? 0);
    if (n < FEWEST) return { x, x_end, y: null, lo: null, hi: null, n, why: `n = ${n}, fewer than ${FEWEST}` };
    return { x, x_end, y: rate.value, lo: rate.lo, hi: rate.hi, n, ...(why === undefined ? {} : { why }) };
  });
}

/** What steps write is all that is written to rows, unless rows come back from elsewhere or those of some are not known; what they need is the least that is read. */
function stepPoints({ kvRows, input, span }: Group, kind: PassKind): CurvePoint[] {
  const steps = input.steps.filter((s) => Number.isFinite(s.begin_ns)).sort((a, b) => a.begin_ns - b.begin_ns);
  const sums = kvStepSums(kvRows, input.steps, span);
  const bytes = kind === "write" ? sums.written_bytes : sums.needed_bytes;
  const count = Math.min(MOST_SAMPLED_BINS, Math.max(1, steps.length >> 1));
  const edges = bins(span, count);
  const totals = new Float64Array(count);
  const n = new Float64Array(count);
  const [from, length] = [edges[0]?.[0] ?? 0, (edges[0]?.[1] ?? 1) - (edges[0]?.[0] ?? 0)];
  const binOf = (begin_ns: number): number => Math.max(0, Math.min(count - 1, Math.floor((begin_ns - from) / length)));
  const ofKind = steps.filter(({ step }) => span.step === "all" || step === span.step);
  // A batch that had not returned has no entry in the sums, and may have written some of its rows.
  const cutBins = new Set(ofKind.filter(({ is_cut }) => is_cut === true).map(({ begin_ns }) => binOf(begin_ns)));
  const mine = ofKind.filter(({ is_cut }) => is_cut !== true);
  mine.forEach(({ begin_ns, is_guess }, i) => {
    const bin = binOf(begin_ns);
    totals[bin] = (totals[bin] ?? 0) + (bytes[i] ?? 0);
    n[bin] = (n[bin] ?? 0) + (is_guess ? 0 : 1);
  });
  return edges.map(([x, x_end], i) => {
    const time = coveredNs(span, x, x_end);
    const rate = time > 0 ? (1e9 * (totals[i] ?? 0)) / time : null;
    const isLeast = kind === "read" || sums.isRestored || input.kvEarly != null || cutBins.has(i);
    return { x, x_end, y: isLeast ? null : rate, lo: isLeast ? rate : null, hi: null, n: n[i] ?? 0 };
  });
}

/**
 * Means over neighbouring blocks of time, with Student's interval of how those differ, each end a sample away at least: where none fell there may
 * have been nearly a period of accesses.
 * Few samples differ by chance by more than they did: the interval holds what a Poisson count may be of.
 * @param lost samples of the source, of which all may have been of one bin
 * @param isWhole true where they are all accesses
 */
function sampledPoints(sum: AccessSums, kind: PassKind, lost: number, isWhole: boolean): CurvePoint[] {
  const { block_ns = 0, blocks_from_ns = 0 } = sum;
  const { accesses, rows } = kindSums(sum, kind === "read" ? "loads" : "stores");
  const period = accesses.reduce((all, ofBlock) => all + ofBlock, 0) / Math.max(1, rows);
  const each = Math.max(BLOCKS_PER_BIN, Math.ceil(accesses.length / MOST_SAMPLED_BINS));
  const points: CurvePoint[] = [];
  for (let first = 0; first < accesses.length; first += each) {
    const blocks = accesses.subarray(first, first + each);
    const rates = blocks.map((sum) => (1e9 * sum) / block_ns);
    const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
    const squares = rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0);
    const spread = rates.length > 1 ? Math.sqrt(squares / (rates.length - 1) / rates.length) : Number.NaN;
    const one = (1e9 * period) / (block_ns * blocks.length);
    const student = rates.length > 1 ? studentQuantile((1 + CI_LEVEL) / 2, rates.length - 1) * spread : Number.NaN;
    const reach = Math.max(one, student);
    const samples = one > 0 ? mean / one : 0;
    const least = isWhole ? mean : leastMean(samples) * one;
    const most = isWhole ? mean : mostMean(samples) * one;
    const [from, end] = [Math.max(0, Math.min(mean - reach, least)), Math.max(mean + reach, most) + lost * one];
    const { value, lo, hi } = interval(mean, from, end);
    const x = blocks_from_ns + first * block_ns;
    points.push({ x, x_end: x + blocks.length * block_ns, y: value, lo, hi, n: blocks.length });
  }
  return points;
}

/** The curve of the first source of samples that counts accesses, judged as a figure is; null where there is none. */
function sampledCurve(group: Group, kind: PassKind, frame: Pick<Curve, "curve" | "shape" | "x_unit">): Curve | null {
  const sum = group.sums.find(({ source, block_ns }) => source !== "clock" && block_ns !== undefined);
  if (sum === undefined) return null;
  const y_unit = "accesses/s";
  const isWhole = isWholeTrace(group, sum);
  const [what, accesses] = kind === "read" ? (["loads", sum.loads] as const) : (["stores", sum.stores] as const);
  const few = accesses.length === 0 ? `no ${what}` : tooFewOf(kindSums(sum, what), sum.source, isWhole);
  const isMoved = isShadowed(sum, what, group.input);
  const lost = lostCount(group.input.ledger, sum.source);
  const points = few === null && !isMoved ? sampledPoints(sum, kind, lost, isWhole) : [];
  const judged = rowOf(
    group,
    {
      metric: `${what}_per_s`,
      source: sum.source,
      estimate: interval(points[0]?.y ?? null, points[0]?.lo ?? null, points[0]?.hi ?? null),
      n: sum.rows,
      method: "Horvitz-Thompson by period, Student's interval over blocks of time; n counts blocks",
      ...(few === null ? {} : { why: few }),
      ...(isMoved ? { not_identifiable: true, why: SHADOW } : {}),
      ...(sum.period_known ? {} : { not_identifiable: true, why: whyNoPeriod(sum) }),
    },
    y_unit,
  );
  return curveOfFigure({ ...frame, y_unit }, judged, () => points);
}

function ratesOf(kind: PassKind): CurveOf {
  const frame = { curve: `${kind}_rate`, shape: "timeline", x_unit: "ns of CLOCK_MONOTONIC" } as const;
  const metric = kind === "read" ? "read_bytes_per_s" : "write_bytes_per_s";
  return (group, rows) => {
    if (group.span.step !== "all") return null;
    const curve = curveOfFigure({ ...frame, y_unit: "bytes/s" }, printedRow(rows, metric), (source) =>
      source === "step" ? stepPoints(group, kind) : watchPoints(group, kind),
    );
    const drawn = curve !== null && curve.points.length > 0 ? curve : (sampledCurve(group, kind, frame) ?? curve);
    if (drawn === null) return null;
    const origin = Number(group.input.t0_ns);
    return {
      ...drawn,
      points: drawn.points.map((point) => ({
        ...point,
        x: origin + point.x,
        ...(point.x_end === undefined ? {} : { x_end: origin + point.x_end }),
      })),
    };
  };
}

export const readRateCurve = ratesOf("read");
export const writeRateCurve = ratesOf("write");

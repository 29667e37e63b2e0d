/** Bytes that are used more often than any that a watch was drawn of: how often that may be, and where a sum has to allow for them. */
import { carryingUnits } from "../../../statistics/carrying-units.ts";
import { clopperPearson, effectiveSize } from "../../../statistics/clopper-pearson.ts";
import { CI_LEVEL } from "../../../statistics/interval.ts";
import { stringerBound } from "../../../statistics/stringer-bound.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { trapLimits } from "../counting/count-window.ts";
import type { PassAxis } from "../counting/pass-counting.ts";
import { turnSizes } from "../counting/turn-windows.ts";

/** Where as many addresses that count alike carry a sum, these tell its spread, however unlike the others are. */
const MANY_CARRYING = 30;
/** Where fewer addresses that count alike than this share of the windows would carry a sum, addresses are unlike, and others may be more so. */
const UNLIKE = 0.5;
/** Fewer windows that are alike speak for few addresses, and these are unlike where fewer than that share of all carry a sum. */
const FEW_WINDOWS = 24;
const FEW_OF_ALL = 0.4;
/** Where undrawn bytes may have more than so many times what was counted a sum is no more than bounds. */
export const MOST_BUSIER = 4;
export const BUSIER = "addresses are very unlike, and far busier bytes may be so few that none was drawn";

/** Units of an axis in the time that is looked at, ns or tokens. */
export const UNIT: Readonly<Record<PassAxis, number>> = { seconds: 1e9, tokens: 1 };

/** Seconds, or tokens, of the span of a set. */
const unitsOf = ({ span }: WatchSet, axis: PassAxis): number =>
  axis === "tokens" ? (span.tokens ?? 0) : span.window_ns / UNIT.seconds;

/**
 * The most passes of a byte in a second, or for a token, that a watch of each of its steps could have counted: as many in each decode step, and for
 * each token of a prompt, as the lowest trap limit. A byte that none was drawn of may be used in every step. 0 without steps.
 */
export function mostInSteps(set: WatchSet, axis: PassAxis): number {
  const turns = turnSizes(set).reduce((sum, size) => sum + size, 0);
  const units = unitsOf(set, axis);
  return units > 0 ? ((trapLimits(set)[0] ?? 0) * turns) / units : 0;
}

/** As long as most windows are: a few long ones, which are so long as no byte was drawn that shows a pass, do not make it longer. */
function usualWindow(held: Float64Array): number {
  const sorted = held.toSorted();
  const mean = sorted.reduce((sum, x) => sum + x, 0) / sorted.length;
  return Math.min(mean, sorted[sorted.length >> 1] ?? Number.POSITIVE_INFINITY);
}

/** The steps, of which a prompt is as many as decode steps of usual length take as long, one at least, and no more than it has tokens. */
function usualSteps(set: WatchSet): number {
  const { begin_ns, end_ns, kind } = set.span.steps;
  const lengths = begin_ns.map((begin, k) => (end_ns[k] ?? begin) - begin);
  const decodes = lengths.filter((_, k) => kind[k] === "decode").sort();
  const usual = decodes[decodes.length >> 1] ?? Number.POSITIVE_INFINITY;
  return turnSizes(set).reduce((sum, size, k) => sum + Math.max(1, Math.min(size, (lengths[k] ?? 0) / usual)), 0);
}

/**
 * How often a byte may be used that none was drawn of: as often in a window as the lowest trap limit, as it is so short that next to none of those that
 * were drawn makes as many traps there. Where it has several steps, which may be for the very reason that no such byte was drawn, as often in each
 * of these; and no more often than a watch of each step, and of each token of a prompt, could count.
 */
function mostOfUndrawn(set: WatchSet, axis: PassAxis, held: Float64Array): number {
  const inSteps = mostInSteps(set, axis);
  const limit = trapLimits(set)[0] ?? 1;
  const inWindows = (limit * UNIT[axis]) / usualWindow(held);
  if (inSteps === 0) return inWindows;
  const inEach = (limit * usualSteps(set)) / unitsOf(set, axis);
  return Math.min(inSteps, Math.max(inWindows, inEach));
}

/** True where few addresses carry the sum as they are used more often, or as few windows hold most of what is looked at. */
function isUnlike(parts: ArrayLike<number>, held: Float64Array): boolean {
  const [carrying, windows] = [carryingUnits(parts), carryingUnits(held)];
  if (carrying >= MANY_CARRYING) return false;
  return carrying < UNLIKE * windows || (windows < FEW_WINDOWS && carrying < FEW_OF_ALL * held.length);
}

/** What the windows of a set show of one kind of pass; arrays by exposure. */
export interface Shown {
  /** Time, ns, or tokens. */
  readonly held: Float64Array;
  readonly counted: Float64Array;
  /** Share of the bytes that each stratum has. */
  readonly scale: ArrayLike<number>;
}

export interface Busier {
  /** What the mean rate may have beyond what was counted, by Stringer's bound; 0 where addresses are about alike. */
  readonly room: number;
  /** What of it is of bytes that are used more often than any that was drawn. */
  readonly undrawn: number;
}

/**
 * What bytes that no watch was drawn of may add to a mean rate, where addresses are very unlike: the busiest may then carry as much as all others,
 * and be so few that none of them was drawn. Of several such strata the one counts that may have most; of a stratum without a pass `undrawnPasses` tells.
 */
export function busierBytes(set: WatchSet, axis: PassAxis, { held, counted, scale }: Shown): Busier {
  const { bytes, stratum } = set.weights;
  let most: Busier = { room: 0, undrawn: 0 };
  for (const [s, all] of Map.groupBy(stratum.keys(), (i) => stratum[i] ?? 0)) {
    const members = all.filter((i) => (held[i] ?? 0) > 0);
    const windows = Float64Array.from(members, (i) => held[i] ?? 0);
    const weights = Float64Array.from(members, (i) => bytes[i] ?? 0);
    const passes = Float64Array.from(members, (i) => counted[i] ?? 0);
    const parts = passes.map((count, k) => count * (weights[k] ?? 0));
    if (!parts.some((part) => part > 0) || !isUnlike(parts, windows)) continue;
    const sumOf = (numbers: Float64Array): number => numbers.reduce((sum, x) => sum + x, 0);
    const [mean, size] = [sumOf(weights) / members.length, effectiveSize(weights)];
    const amounts = parts.map((part, k) => (UNIT[axis] * part) / (windows[k] ?? 1) / mean).filter((x) => x > 0);
    const ceiling = mostOfUndrawn(set, axis, windows);
    const rate = (UNIT[axis] * sumOf(parts)) / sumOf(weights.map((weight, k) => weight * (windows[k] ?? 0)));
    const room = (scale[s] ?? 0) * (stringerBound([...amounts], members.length, size, ceiling) - rate);
    if (room <= most.room) continue;
    most = { room, undrawn: (scale[s] ?? 0) * (clopperPearson(0, size, CI_LEVEL).hi ?? 1) * ceiling };
  }
  return most;
}

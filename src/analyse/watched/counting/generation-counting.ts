/** Counts the passes of a whole generation by its steps: windows hold as many of each kind, and as much time between them, as the run has. */

import { wordsOf } from "../../../schema/row.ts";
import type { Step } from "../../../schema/words.ts";
import { firstIndex } from "../../../statistics/first-index.ts";
import { coveredNs, coveredStepNs, coveredSteps, type Span, stepBy } from "../../input/span.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { meanInLives } from "../drawn-lives.ts";
import { countedIn } from "../exposure.ts";
import { countWindows, type PassCounting, passesIn, windowOf } from "./count-window.ts";
import { evenWindows } from "./moments-after-birth.ts";
import { type TurnWindows, turnSizes, turnWindows } from "./turn-windows.ts";

/** With fewer windows that hold some of a kind, they say too little of how much of it windows hold. */
const FEWEST_WINDOWS = 10;
/** Above this share of the time what is lost between steps counts. */
const MOST_BETWEEN = 0.01;

/** What goes on: steps of a kind, the time up to the next step behind those that are counted whole, and all other time. */
type Kind = Step | `after ${Step}` | "between";
const STEPS = wordsOf("trace", "step");
const KINDS: readonly Kind[] = [...STEPS, ...STEPS.map((step) => `after ${step}` as const), "between"];

type Amounts = Record<Kind, number>;
const nothing = (): Amounts => ({ prefill: 0, decode: 0, "after prefill": 0, "after decode": 0, between: 0 });

/** The steps of one kind, as a watch sees them. */
interface Part {
  readonly set: WatchSet;
  /** Time from the end of each step up to the next one, ns. */
  readonly after_ns: Float64Array;
  /** Sums of the sizes of the steps before each, and of these times; one more than there are steps. */
  readonly turns: Float64Array;
  readonly after: Float64Array;
}

/** Sums of the numbers before each, and of all. */
function sumsOf(numbers: Float64Array): Float64Array {
  const out = new Float64Array(numbers.length + 1);
  numbers.forEach((x, k) => {
    out[k + 1] = (out[k] ?? 0) + x;
  });
  return out;
}

/** A set of which only the passes in the steps of one kind count. */
function partOf(set: WatchSet, span: Span): Part {
  const exposures = set.exposures.map((exposure) => countedIn(exposure, span));
  const part = { ...set, span, exposures };
  const { end_ns, turn_end_ns } = span.steps;
  const after_ns = turn_end_ns.map((end, k) => Math.max(0, end - (end_ns[k] ?? end)));
  return { set: part, after_ns, turns: sumsOf(turnSizes(part)), after: sumsOf(after_ns) };
}

type Parts = Partial<Record<Step, Part>>;

/** How the passes of one stratum count. */
interface Stratum {
  readonly members: readonly number[];
  /** Share that the window of an exposure has of what all windows hold of a kind, by bytes; of a kind that few hold, of their time. */
  readonly share: (exposure: number, kind: Kind) => number;
  /** Time of all windows, ns, by bytes. */
  readonly time: number;
  /** Whole steps, of the kinds of which windows can hold some; the others count by the share of their time that windows hold. */
  readonly whole: Partial<Record<Step, TurnWindows>>;
  /** The steps, as far as a pass belongs to them: those that are counted whole up to the next one. */
  readonly span: Span;
  /** What a pass of a kind counts for: the time of the memory has so many times as much of the kind as the windows in theirs. */
  readonly times: Amounts;
}

/** What windows of whole steps of one kind hold, by exposure: steps by their sizes, and the time behind them, ns. */
type Held = Map<number, readonly [turns: number, after_ns: number]>;

function turnsHeld(members: readonly number[], { after_ns }: Part, windows: TurnWindows): Held {
  const out: Held = new Map();
  for (const i of members) {
    const turns = windows.held(i);
    if (!(turns > 0)) continue;
    const [first, end] = windows.turns(i);
    let after = 0;
    for (let k = first; k < end; k++) after += (after_ns[k] ?? 0) * windows.weight(i, k);
    out.set(i, [turns, after]);
  }
  return out;
}

interface Counted {
  readonly stratum: Stratum;
  /** What each of the members holds, in time, ns. */
  readonly held: ReadonlyMap<number, number>;
}

/**
 * How much of each kind goes on in a ns of the time in which the memory of a stratum is there.
 * @param span whose steps end as passes belong to them
 */
function inLives(
  set: WatchSet,
  members: readonly number[],
  span: Span,
  whole: Stratum["whole"],
  parts: Parts,
): Amounts {
  const out = nothing();
  const mean = (between: (from: number, end: number) => number): number => meanInLives(set, members, between) ?? 0;
  for (const kind of STEPS) {
    const part = whole[kind] && parts[kind];
    if (!part) {
      out[kind] = mean((from, end) => coveredSteps(span, kind, from, end));
      continue;
    }
    const { begin_ns } = part.set.span.steps;
    const before = (time: number): number => firstIndex(begin_ns.length, (k) => (begin_ns[k] ?? 0) < time);
    const summed = (running: Float64Array): number =>
      mean((from, end) => (running[before(end)] ?? 0) - (running[before(from)] ?? 0));
    out[kind] = summed(part.turns);
    out[`after ${kind}`] = summed(part.after);
  }
  out.between = mean((from, end) => Math.max(0, coveredNs(set.span, from, end) - coveredStepNs(span, from, end)));
  return out;
}

/** The passes of one stratum. */
function countStratum(set: WatchSet, members: readonly number[], parts: Parts): Counted {
  const { time_ns, amount } = evenWindows(set);
  const { steps, window_ns } = set.span;
  const bytes = (i: number): number => set.weights.bytes[i] ?? 0;
  const time = members.reduce((sum, i) => sum + bytes(i) * (time_ns[i] ?? 0), 0);
  const whole: Partial<Record<Step, TurnWindows>> = {};
  const held: Partial<Record<Step, Held>> = {};
  for (const kind of STEPS) {
    const part = parts[kind];
    const windows = part && turnWindows(part.set, members);
    if (!part || !windows || windows.units < FEWEST_WINDOWS) continue;
    whole[kind] = windows;
    held[kind] = turnsHeld(members, part, windows);
  }
  const isWhole = (k: number): boolean => whole[steps.kind[k] ?? "decode"] !== undefined;
  const end_ns = steps.end_ns.map((end, k) => (isWhole(k) ? (steps.turn_end_ns[k] ?? end) : end));
  const span = { ...set.span, steps: { ...steps, end_ns } };
  const there = inLives(set, members, span, whole, parts);
  const amounts = nothing();
  const windows = nothing();
  const holds = new Map<number, Amounts>();
  for (const i of members) {
    const here = nothing();
    holds.set(i, here);
    for (const kind of STEPS) {
      const mine = held[kind];
      if (mine) [here[kind], here[`after ${kind}`]] = mine.get(i) ?? [0, 0];
      else here[kind] = amount(i, (from, end) => coveredSteps(span, kind, from, end));
    }
    here.between = amount(i, (from, end) => Math.max(0, coveredNs(span, from, end) - coveredStepNs(span, from, end)));
    for (const kind of KINDS) {
      amounts[kind] += bytes(i) * here[kind];
      if (here[kind] > 0) windows[kind] += 1;
    }
  }
  const times = nothing();
  for (const kind of KINDS) times[kind] = windows[kind] < FEWEST_WINDOWS ? 1 : there[kind] / (amounts[kind] / time);
  // Where most passes are in whole steps, who holds more of these holds more passes.
  const shareOf = (kind: Step): number => (held[kind] ? (parts[kind]?.set.span.window_ns ?? 0) / window_ns : 0);
  const heldBy = (i: number): number =>
    STEPS.reduce(
      (sum, kind) => sum + (shareOf(kind) * time * (held[kind]?.get(i)?.[0] ?? 0)) / (amounts[kind] || 1),
      (1 - shareOf("prefill") - shareOf("decode")) * (time_ns[i] ?? 0),
    );
  const share = (i: number, kind: Kind): number =>
    windows[kind] < FEWEST_WINDOWS
      ? (time_ns[i] ?? 0) / (time || 1)
      : (holds.get(i)?.[kind] ?? 0) / (amounts[kind] || 1);
  return { stratum: { members, share, time, whole, span, times }, held: new Map(members.map((i) => [i, heldBy(i)])) };
}

/**
 * What windows hold as some passes come with it. A kind of which these have a share is told over what the windows hold of it, so that an estimate moves
 * with the chance of what they hold: by as much as the passes lie there (a sum of ratios, linearised; Cochran, Sampling Techniques, 6.11).
 */
function heldWith(
  { weights, exposures }: WatchSet,
  strata: readonly Stratum[],
  held: Float64Array,
  isOf: (exposure: number, pass: number) => boolean,
  counts: (exposure: number, time: number) => readonly [kind: Kind, weight: number],
): Float64Array {
  const out = held.slice();
  for (const { members, share, time } of strata) {
    const sums = nothing();
    for (const i of members) {
      const { passes, inside } = exposures[i] ?? { passes: { start_ns: [] }, inside: [] };
      for (const p of inside) {
        if (!isOf(i, p)) continue;
        const [kind, weight] = counts(i, passes.start_ns[p] ?? 0);
        sums[kind] += (weights.bytes[i] ?? 0) * weight;
      }
    }
    const all = KINDS.reduce((sum, kind) => sum + sums[kind], 0);
    if (!(all > 0)) continue;
    for (const i of members) out[i] = time * KINDS.reduce((sum, kind) => sum + (sums[kind] / all) * share(i, kind), 0);
  }
  return out;
}

/** Passes of a time, whatever steps it has. */
export function overTime(set: WatchSet): PassCounting {
  const { length_ns, unseen, cut } = countWindows(set);
  const { time_ns, weight } = evenWindows(set);
  return {
    held: time_ns,
    passes: (i) => passesIn(set, i, length_ns[i] ?? 0),
    weight,
    unseen,
    cut,
    left_out: 0,
    by_time: 1,
    uneven: 1,
  };
}

/**
 * Passes of a time, and, where it has steps, post-strata of what goes on. A step that was to begin while its CPUs were busy with an arming
 * begins right after it, and one that goes on while its CPU arms a watch, or takes one out, stands still: windows hold more steps, and more
 * time of steps, than as much time of the run does, and of a step that an end of the window cuts another share than that of its time. So steps
 * are counted whole (`turn-windows.ts`), and by their share of time where they are too long or have too many passes for that. Passes in steps
 * of a kind count by the steps of that kind in a second of the run over those in the windows, passes between steps by the time between steps
 * in either; of each stratum by itself, as the shorter its windows are, the more steps they hold.
 */
export function overGeneration(set: WatchSet): PassCounting {
  const { span, weights, exposures } = set;
  const byTime = overTime(set);
  if (span.parts.length === 0) return byTime;
  const { passes: inWindow, unseen, cut } = byTime;
  const { length_ns } = countWindows(set);
  const byAge = evenWindows(set);
  const parts: Parts = Object.fromEntries(span.parts.map((part) => [part.step, partOf(set, part)]));
  const strata = new Map<number, Stratum>();
  const held = new Float64Array(exposures.length);
  let leftOut = 0;
  let byTurns = 0;
  let missed = 0;
  let counted = 0;
  for (const [s, members] of Map.groupBy(exposures.keys(), (i) => weights.stratum[i] ?? 0)) {
    const one = countStratum(set, members, parts);
    strata.set(s, one.stratum);
    for (const [i, ns] of one.held) held[i] = ns;
    const bytes = members.reduce((sum, i) => sum + (weights.bytes[i] ?? 0), 0);
    for (const kind of STEPS) {
      const whole = one.stratum.whole[kind];
      const share = (parts[kind]?.set.span.window_ns ?? 0) / span.window_ns;
      leftOut += ((whole?.left_out ?? 0) * share * bytes) / weights.total_bytes;
      if (whole !== undefined) byTurns += (share * bytes) / weights.total_bytes;
      missed += whole?.unseen ?? 0;
      counted += whole?.seen ?? 0;
    }
  }
  const stratumOf = (i: number): Stratum | undefined => strata.get(weights.stratum[i] ?? 0);
  const between = span.window_ns - span.parts.reduce((sum, part) => sum + part.window_ns, 0);
  const isAllWhole =
    between <= MOST_BETWEEN * span.window_ns &&
    [...strata.values()].every(({ whole }) => span.parts.every(({ step }) => whole[step as Step] !== undefined));
  /** What goes on when a pass begins, and what that counts for. */
  function counts(i: number, time: number): readonly [kind: Kind, weight: number] {
    const stratum = stratumOf(i);
    if (stratum === undefined) return ["between", 1];
    const { steps } = stratum.span;
    const number = stepBy(steps, time);
    const kind = time < (steps.end_ns[number] ?? Number.NEGATIVE_INFINITY) ? steps.kind[number] : undefined;
    const whole = kind && stratum.whole[kind];
    const part = kind && parts[kind];
    if (!whole || !part) {
      const [begin, end] = windowOf(set, i, length_ns[i] ?? 0);
      const goesOn = kind ?? "between";
      return [goesOn, time >= begin && time < end ? byAge.weight(i, time) * stratum.times[goesOn] : 0];
    }
    const ofKind = part.set.span.steps;
    const turn = stepBy(ofKind, time);
    const [first, end] = whole.turns(i);
    const goesOn = time < (ofKind.end_ns[turn] ?? time) ? kind : (`after ${kind}` as const);
    if (turn < first || turn >= end) return [goesOn, 0];
    return [goesOn, stratum.times[goesOn] * whole.share(i, time) * whole.weight(i, turn)];
  }
  return {
    held,
    heldWith: (isOf) => heldWith(set, [...strata.values()], held, isOf, counts),
    passes: (i) => {
      const stratum = stratumOf(i);
      const isWhole = stratum !== undefined && STEPS.some((kind) => stratum.whole[kind] !== undefined);
      return isWhole ? (exposures[i]?.inside ?? new Uint32Array(0)) : inWindow(i);
    },
    weight: (i, time) => counts(i, time)[1],
    unseen: Math.max(missed > 0 ? missed / (missed + counted) : 0, isAllWhole ? 0 : unseen),
    cut: isAllWhole ? 0 : cut,
    left_out: leftOut,
    by_time: Math.max(0, 1 - byTurns),
    uneven: 1,
  };
}

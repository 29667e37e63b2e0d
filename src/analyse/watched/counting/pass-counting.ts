/** What the passes of a watch are counted over: the time of its window, or the tokens of the steps that it holds. */
import { carryingUnits } from "../../../statistics/carrying-units.ts";
import { coveredSteps, coveredTokens, stepBy } from "../../input/span.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { meanInLives } from "../drawn-lives.ts";
import { countWindows, type PassCounting, passesBetween, passesIn } from "./count-window.ts";
import { overGeneration } from "./generation-counting.ts";
import { evenWindows } from "./moments-after-birth.ts";
import { type TurnWindows, turnSizes, turnWindows } from "./turn-windows.ts";

export type PassAxis = "seconds" | "tokens";

/** With fewer windows that are alike and hold whole steps, those that outlast one by far speak for all others. */
const FEWEST_WINDOWS = 10;
const areMany = (held: readonly number[]): boolean => carryingUnits(held) >= FEWEST_WINDOWS;

/** How much longer the step at a random moment is than the mean of all steps, at least 1. */
function unevenness({ span: { steps } }: WatchSet): number {
  const lengths = steps.begin_ns.map((begin, k) => (steps.end_ns[k] ?? begin) - begin);
  const sum = lengths.reduce((all, x) => all + x, 0);
  const squares = lengths.reduce((all, x) => all + x * x, 0);
  return sum > 0 ? (squares * lengths.length) / sum ** 2 : 1;
}

/**
 * How many times as many tokens, or steps, go by in a ns of the time in which the memory of a stratum is there as in one of the span.
 * @param between how many there are from one moment to another
 */
function turnsInLives(
  set: WatchSet,
  members: readonly number[],
  between: (from: number, end: number) => number,
): number {
  const inSpan = between(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY) / set.span.window_ns;
  const inLives = meanInLives(set, members, between);
  return inLives !== null && inSpan > 0 ? inLives / inSpan : 1;
}

/**
 * In whole steps where windows can hold some. Where steps are too long for that, or one has more passes than a watch can count, in as large
 * a part of the tokens of a step as of its time: what stands still while a watch is armed is little of a long step.
 */
function overTokens(set: WatchSet): PassCounting {
  const { exposures, weights, span } = set;
  const byTime = countWindows(set);
  const byAge = evenWindows(set);
  const sizes = turnSizes(set);
  const perSize = (span.tokens ?? 0) / sizes.reduce((sum, size) => sum + size, 0);
  const held = new Float64Array(exposures.length);
  const whole = new Map<number, TurnWindows | null>();
  const times = new Map<number, number>();
  let leftOut = 0;
  let byTimeShare = 0;
  let missed = 0;
  let counted = 0;
  for (const [s, members] of Map.groupBy(exposures.keys(), (i) => weights.stratum[i] ?? 0)) {
    const found = turnWindows(set, members);
    const windows = found !== null && areMany(members.map(found.held)) ? found : null;
    whole.set(s, windows);
    const isByStep = windows !== null && span.step === "decode";
    times.set(
      s,
      turnsInLives(set, members, (from, end) =>
        isByStep ? coveredSteps(span, "decode", from, end) : coveredTokens(span, from, end),
      ),
    );
    for (const i of members) {
      if (windows === null) held[i] = byAge.amount(i, (from, end) => coveredTokens(span, from, end));
      else held[i] = perSize * windows.held(i);
    }
    const share = members.reduce((sum, i) => sum + (weights.bytes[i] ?? 0), 0) / weights.total_bytes;
    if (windows === null) {
      // A step that stands still before a watch is armed, and goes on behind it, has more passes there than it has time.
      byTimeShare += share;
      continue;
    }
    leftOut += windows.left_out * share;
    missed += windows.unseen;
    counted += windows.seen;
  }
  const wholeOf = (i: number): TurnWindows | null => whole.get(weights.stratum[i] ?? 0) ?? null;
  const isAllWhole = [...whole.values()].every((windows) => windows !== null);
  return {
    held,
    passes: (i) => {
      const windows = wholeOf(i);
      const exposure = exposures[i];
      if (windows === null || exposure === undefined) return passesIn(set, i, byTime.length_ns[i] ?? 0);
      const [first, end] = windows.turns(i);
      const until = end > first ? span.steps.turn_end_ns[end - 1] : span.steps.begin_ns[first];
      return passesBetween(exposure, span.steps.begin_ns[first] ?? 0, until ?? 0);
    },
    weight: (i, time) => {
      const windows = wholeOf(i);
      const inSpan = times.get(weights.stratum[i] ?? 0) ?? 1;
      if (windows === null) return inSpan * byAge.weight(i, time);
      return inSpan * windows.share(i, time) * windows.weight(i, stepBy(span.steps, time));
    },
    unseen: Math.max(missed > 0 ? missed / (missed + counted) : 0, isAllWhole ? 0 : byTime.unseen),
    cut: isAllWhole ? 0 : byTime.cut,
    left_out: leftOut,
    by_time: byTimeShare,
    uneven: byTimeShare > 0 ? unevenness(set) : 1,
  };
}

export const countPasses = (set: WatchSet, axis: PassAxis): PassCounting =>
  axis === "tokens" ? overTokens(set) : overGeneration(set);

/** Windows of whole steps: those that begin first after a watch was armed, each with its chance to be one of them. */
import { carryingUnits } from "../../../statistics/carrying-units.ts";
import { countBelow, countUpTo, firstIndex } from "../../../statistics/first-index.ts";
import { mean } from "../../../statistics/mean.ts";
import { MOST_LEFT } from "../../../statistics/quantile-inversion.ts";
import { coveredNs, type SpanSteps } from "../../input/span.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import type { Exposure } from "../exposure.ts";
import { MOST_UNSEEN, passCountBetween, passesBetween, SHORTER, unseenPasses } from "./count-window.ts";
import { MOST_TIMES } from "./moments-after-birth.ts";
import { hasLaws, longerAt } from "./step-chances.ts";
import { paceWeights } from "./step-paces.ts";

/** A step that has less than this share of the chance of one that no prompt, and no end of a watch, is near is left out. */
const LEAST_CHANCE = 0.2;
/** Where more of the steps are left out than this share, the others do not speak for them. */
const MOST_LEFT_OUT = 0.2;
/** Nor do they where more of the time of the memory lies in steps in which it came or went. */
const MOST_CUT_STEPS = 0.02;
/** More passes of busy words than this share make windows shorter: few watches tell of these words. */
const MOST_BUSY = 0.01;
/** Passes that windows of one step may miss, as a share: no window is shorter, and the interval allows for them. */
const MOST_UNSEEN_OF_ONE = 0.05;
/** So many windows that are alike have to hold as much: where some are far longer, few addresses would tell most. */
const FEWEST_WINDOWS = 30;

/** The shortest reach is taken of which no fewer watches tell than this share of those of another. */
const MOST_FEWER = 0.5;

/** The windows of one stratum. */
export interface TurnWindows {
  /** Numbers of the steps in the window of an exposure: from the first up to the second. */
  readonly turns: (exposure: number) => readonly [first: number, end: number];
  /** What a step of the window of an exposure counts for: the inverse of its chance, 0 where it has next to none, as windows hold the pace of its steps. */
  readonly weight: (exposure: number, step: number) => number;
  /** Steps in the window of an exposure by their sizes, each as often as it counts. */
  readonly held: (exposure: number) => number;
  /** What a pass of an exposure counts for that begins at a time: more than one behind as many traps as only a high limit allows. */
  readonly share: (exposure: number, time_ns: number) => number;
  /** Steps that no window can hold, over all steps. */
  readonly left_out: number;
  /** Weight of the passes that the windows may have missed after a last trap, and of those that they saw. */
  readonly unseen: number;
  readonly seen: number;
  /** How many watches that count alike would tell of as much: of passes, or of steps where none saw a pass. */
  readonly units: number;
}

/** What steps are counted in, and the time that each takes, up to the next. */
interface StepSizes {
  readonly sizes: Float64Array;
  readonly lengths_ns: Float64Array;
}

/** Every figure asks for those of the same steps, of which there may be hundreds of thousands. */
const sizesBySteps = new WeakMap<SpanSteps, StepSizes>();

function sizesOf(steps: SpanSteps): StepSizes {
  const { begin_ns, turn_end_ns, tokens, kind } = steps;
  const found = sizesBySteps.get(steps) ?? {
    sizes: tokens.map((sum, k) => (kind[k] === "decode" ? 1 : sum - (tokens[k - 1] ?? 0))),
    lengths_ns: begin_ns.map((begin, k) => (turn_end_ns[k] ?? begin) - begin),
  };
  sizesBySteps.set(steps, found);
  return found;
}

/** What steps are counted in: a decode call is one, whatever its sequences, and a prompt as many as its tokens. */
export const turnSizes = ({ span: { steps } }: WatchSet): Float64Array => sizesOf(steps).sizes;

/** Watches of one stratum and one way of trapping, whose windows have as many steps at most. */
interface Cell {
  readonly members: readonly number[];
  readonly most: number;
  /** What a pass of an exposure counts for that begins at a time. */
  readonly share: (exposure: number, time_ns: number) => number;
  readonly unseen: number;
  readonly seen: number;
}

/**
 * When a watch may be armed that holds a step: after the last step of another kind before it, in that one or after it, or at any time. The
 * more it meets before the step, the more it may have made its last trap there.
 */
type Reach = "own" | "next" | "any";
const REACHES: readonly Reach[] = ["own", "next", "any"];

/** The moment before which no watch is armed that holds a step of a number, as far as steps of another kind go. */
function reachOf({ span: { steps } }: WatchSet, reach: Reach): (step: number) => number {
  const last = reach === "own" ? steps.other_end_ns : steps.other_begin_ns;
  return (k) => (reach === "any" ? Number.NEGATIVE_INFINITY : (last[k] ?? 0));
}

/** Steps that an exposure could hold, as many as there are: from the first that begins after its arming up to another. */
function holdable(set: WatchSet, i: number, reach: Reach): readonly [first: number, end: number] {
  const exposure = set.exposures[i];
  if (exposure === undefined) return [0, 0];
  const { begin_ns, turn_end_ns } = set.span.steps;
  const earliest = reachOf(set, reach);
  const begin = exposure.armed_ns + set.gap_ns;
  const first = countBelow(begin_ns, begin);
  const over = countUpTo(turn_end_ns, exposure.window_end_ns);
  const others = firstIndex(begin_ns.length, (k) => earliest(k) <= begin);
  return [first, Math.max(first, Math.min(over, others))];
}

/** What each of some exposures could hold, by their places among them: it is asked for at every length. */
interface Holdable {
  readonly first: Uint32Array;
  readonly end: Uint32Array;
}

function holdableBy(set: WatchSet, members: readonly number[], reach: Reach): Holdable {
  const out = { first: new Uint32Array(members.length), end: new Uint32Array(members.length) };
  for (const [which, i] of members.entries()) [out.first[which], out.end[which]] = holdable(set, i, reach);
  return out;
}

/** The lowest and the highest trap limit of some watches: of those of a day more than a call can have arguments. */
function limitsOf(set: WatchSet, members: readonly number[]): readonly [lowest: number, highest: number] {
  let [lowest, highest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const i of members) {
    const limit = set.exposures[i]?.watch.trap_limit ?? 0;
    lowest = Math.min(lowest, limit);
    highest = Math.max(highest, limit);
  }
  return [lowest, highest];
}

/** True of a watch that its last trap ended, and that had begun to look. */
const isStopped = ({ watch, byTrap, end_ns, armed_ns }: Exposure): boolean =>
  byTrap && watch.ended_by === "trap_limit" && end_ns > armed_ns;

/**
 * So many accesses of a word that watches with the lowest limit may end behind them, the most first: as many as the limit, and fewer where some
 * ended before, as the kernel counts elements of copies, or what came before the watch began.
 */
function stopsOf(set: WatchSet, members: readonly number[]): number[] {
  const [lowest] = limitsOf(set, members);
  const counts = members.flatMap((i) => {
    const exposure = set.exposures[i];
    const isLow = exposure !== undefined && exposure.watch.trap_limit === lowest && isStopped(exposure);
    return isLow ? exposure.watch.hit_ns.length : [];
  });
  return [...new Set([lowest, ...counts.filter((count) => count > 0 && count < lowest)])].sort((a, b) => b - a);
}

/**
 * Windows of so many steps at most. A word that has as many accesses as a watch with the lowest limit may see before the end of its window is busy:
 * every watch tells how many of the words are. How often these are used only watches with the highest limit tell, and they stand for the others (double
 * sampling for strata, Neyman, JASA 33, 1938). Where none of these met a busy word, what the others saw of it counts, and what they may have missed is told.
 *
 * The kernel does not count as the reader does: an instruction that goes over a word by elements may count once against the limit and be several
 * accesses, so that a watch sees more of them than its limit; what these saw beyond it is left out, as others stand for it. Or a copy of many elements
 * counts as many times and is one access: what a watch may have missed that ended before it saw as many, none stands for.
 * @param asMany accesses behind which those with the highest limit stand for the others
 */
function cellOf(set: WatchSet, members: readonly number[], most: number, holds: Holdable, asMany: number): Whole {
  const [, highest] = limitsOf(set, members);
  const { begin_ns, turn_end_ns } = set.span.steps;
  const busy: number[] = [];
  const lengths = new Float64Array(members.length);
  const amounts = { all: 0, deep: 0, seen: 0, passes: 0, missed: 0, missedDeep: 0, missedSoon: 0 };
  for (const [which, i] of members.entries()) {
    const exposure = set.exposures[i];
    const first = holds.first[which] ?? 0;
    const last = Math.min(holds.end[which] ?? 0, first + most);
    if (exposure === undefined || last <= first) continue;
    const until = turn_end_ns[last - 1] ?? 0;
    const weight = set.weights.bytes[i] ?? 0;
    const passes = weight * passCountBetween(exposure, begin_ns[first] ?? 0, until);
    const { trap_limit, hit_ns } = exposure.watch;
    const lastTrap = exposure.byTrap ? exposure.end_ns : Number.POSITIVE_INFINITY;
    lengths[which] = last - first;
    amounts.seen += passes;
    if (Math.min(lastTrap, hit_ns[asMany - 1] ?? lastTrap) >= until) continue;
    const missed = weight * unseenPasses(set, exposure, until);
    busy.push(i);
    amounts.passes += passes;
    amounts.all += weight * (last - first);
    amounts.missed += missed;
    if (trap_limit < highest) {
      if (hit_ns.length < asMany && isStopped(exposure)) amounts.missedSoon += missed;
      continue;
    }
    amounts.deep += weight * (last - first);
    amounts.missedDeep += missed;
  }
  const isTold = amounts.deep > 0;
  const times = isTold ? amounts.all / amounts.deep : 1;
  const unseen = isTold ? times * amounts.missedDeep + amounts.missedSoon : amounts.missed;
  let isBusy: Set<number> | null = null;
  const share = (i: number, time: number): number => {
    // Most windows that are tried are never asked.
    isBusy ??= new Set(busy);
    if (!isTold || !isBusy.has(i)) return 1;
    const { trap_limit, hit_ns } = set.exposures[i]?.watch ?? { trap_limit: 0, hit_ns: [] };
    if (time <= (hit_ns[asMany - 1] ?? Number.POSITIVE_INFINITY)) return 1;
    return trap_limit === highest ? times : 0;
  };
  const isToldByMany = amounts.passes <= MOST_BUSY * amounts.seen && carryingUnits(lengths) >= FEWEST_WINDOWS;
  return { members, most, share, unseen, seen: amounts.seen, isToldByMany };
}

interface Whole extends Cell {
  /** Many windows tell of most of the passes. */
  readonly isToldByMany: boolean;
}

/** The windows with most steps of which many tell; of one step where even so few do; null where that loses passes. */
function longestWhole(set: WatchSet, members: readonly number[], reach: Reach): Cell | null {
  const holds = holdableBy(set, members, reach);
  let most = holds.end.reduce((longest, end, which) => Math.max(longest, end - (holds.first[which] ?? 0)), 1);
  const stops = stopsOf(set, members);
  for (; most >= 1; most = Math.min(most - 1, Math.floor(SHORTER * most))) {
    const mostUnseen = most === 1 ? MOST_UNSEEN_OF_ONE : MOST_UNSEEN;
    for (const asMany of stops) {
      const cell = cellOf(set, members, most, holds, asMany);
      if (cell.unseen <= mostUnseen * (cell.seen + cell.unseen) && (most === 1 || cell.isToldByMany)) return cell;
    }
  }
  return null;
}

/**
 * The chance of a step to be held, in time at which a watch that holds it may begin: after the begin of the step as many steps before
 * as a window has, after the last step of another kind, after the memory came, and so late that its time is not over before the step is.
 */
function chancesOf(set: WatchSet, cells: readonly Cell[], reach: Reach): (step: number, since_ns: number) => number {
  const { begin_ns, turn_end_ns } = set.span.steps;
  const earliest = reachOf(set, reach);
  const armed = set.exposures.reduce((first, { armed_ns }) => Math.min(first, armed_ns), Number.POSITIVE_INFINITY);
  const ways = cells.map(({ members, most }) => ({ most, longerFrom: longerAt(set, members) }));
  return (k, since) => {
    const begin = begin_ns[k] ?? 0;
    const length = (turn_end_ns[k] ?? begin) - begin;
    let sum = 0;
    for (const { most, longerFrom } of ways) {
      const longer = longerFrom(begin);
      const from = Math.max(
        begin_ns[k - most] ?? Number.NEGATIVE_INFINITY,
        earliest(k),
        Math.max(armed, since) + set.gap_ns,
      );
      sum = sum + longer(length) - longer(length + Math.max(0, begin - from));
    }
    return sum;
  };
}

/** Share of the time of the bytes that lies in steps which their memory is not there for as a whole: no watch can hold these. */
function cutShare(set: WatchSet, members: readonly number[]): number {
  const { begin_ns, turn_end_ns } = set.span.steps;
  let cut = 0;
  let all = 0;
  for (const i of members) {
    const { region_birth_ns, region_death_ns } = set.exposures[i]?.watch ?? {
      region_birth_ns: 0,
      region_death_ns: null,
    };
    const bytes = set.weights.bytes[i] ?? 0;
    all += bytes;
    if (region_birth_ns <= 0 && region_death_ns === null) continue;
    const birth = region_birth_ns > 0 ? region_birth_ns : Number.NEGATIVE_INFINITY;
    const death = region_death_ns ?? Number.POSITIVE_INFINITY;
    const first = firstIndex(begin_ns.length, (k) => (begin_ns[k] ?? 0) < birth + set.gap_ns);
    const last = firstIndex(begin_ns.length, (k) => (turn_end_ns[k] ?? 0) <= death) - 1;
    const lived = coveredNs(set.span, birth, death);
    const whole = first > last ? 0 : coveredNs(set.span, begin_ns[first] ?? 0, turn_end_ns[last] ?? 0);
    if (lived > 0) cut += bytes * (1 - whole / lived);
  }
  return all > 0 ? cut / all : 0;
}

function windowsOf(set: WatchSet, members: readonly number[], reach: Reach): TurnWindows | null {
  const ways = Map.groupBy(members, (i) => set.exposures[i]?.watch.mode === "w");
  const cells: Cell[] = [];
  for (const way of ways.values()) {
    const cell = longestWhole(set, way, reach);
    if (cell === null) return null;
    cells.push(cell);
  }
  const { begin_ns, turn_end_ns } = set.span.steps;
  const { sizes, lengths_ns: lengths } = sizesOf(set.span.steps);
  const chanceOf = chancesOf(set, cells, reach);
  const chances = begin_ns.map((_, k) => chanceOf(k, Number.NEGATIVE_INFINITY));
  const all = cells.flatMap((cell) => cell.members).reduce((sum, i) => sum + (set.weights.bytes[i] ?? 0), 0);
  // Behind a step of another kind the chance is of the length of that one.
  const usual = reach === "next" ? mean(chances) : all * mean(lengths);
  const usualWeight = chances;
  let [sum, leftSize, left_ns] = [0, 0, 0];
  for (let k = 0; k < chances.length; k++) {
    const chance = chances[k] as number;
    const weight = chance >= LEAST_CHANCE * usual && chance > 0 ? usual / chance : 0;
    usualWeight[k] = weight;
    sum += sizes[k] ?? 0;
    if (weight !== 0) continue;
    leftSize += sizes[k] ?? 0;
    left_ns += lengths[k] ?? 0;
  }
  const cut = cutShare(set, members);
  const left_out = leftSize / sum + cut;
  if (!(left_out <= MOST_LEFT_OUT && cut <= MOST_CUT_STEPS)) return null;
  // Where watches were given time by several laws those that are left out are the long ones, which have more passes than others.
  if (hasLaws(set) && left_ns / lengths.length > MOST_LEFT * mean(lengths)) return null;
  const longest = Math.max(...cells.map(({ most }) => most));
  const byChance = (i: number, k: number): number => {
    const birth = set.exposures[i]?.watch.region_birth_ns ?? 0;
    const times = usualWeight[k] ?? 0;
    const isOld = birth + set.gap_ns <= (begin_ns[k - longest] ?? Number.NEGATIVE_INFINITY);
    if (times === 0 || birth <= 0 || isOld) return times;
    return Math.min(MOST_TIMES, usual / chanceOf(k, birth));
  };
  const cellBy = new Map(cells.flatMap((cell) => cell.members.map((i) => [i, cell] as const)));
  const turnsBy = new Map(
    members.map((i): [number, readonly [number, number]] => {
      const [first, end] = holdable(set, i, reach);
      return [i, [first, Math.min(end, first + (cellBy.get(i)?.most ?? 0))]];
    }),
  );
  const turns = (i: number): readonly [number, number] => turnsBy.get(i) ?? [0, 0];
  if (!members.some((i) => turns(i)[1] > turns(i)[0])) return null;
  const byPace = paceWeights(set, members, { sizes, turns, weight: byChance });
  const weight = (i: number, k: number): number => byChance(i, k) * byPace(k);
  const share = (i: number, time: number): number => cellBy.get(i)?.share(i, time) ?? 1;
  const held = (i: number): number => {
    const [first, end] = turns(i);
    let sum = 0;
    for (let k = first; k < end; k++) sum += (sizes[k] ?? 0) * weight(i, k);
    return sum;
  };
  const steps = new Float64Array(members.length);
  const passes = new Float64Array(members.length);
  for (const [which, i] of members.entries()) {
    const exposure = set.exposures[i];
    if (exposure === undefined) continue;
    const bytes = set.weights.bytes[i] ?? 0;
    const [first, end] = turns(i);
    steps[which] = bytes * held(i);
    for (let k = first; k < end; k++) {
      const until = k + 1 < end ? begin_ns[k + 1] : turn_end_ns[k];
      const inside = passesBetween(exposure, begin_ns[k] ?? 0, until ?? 0);
      const counted = inside.reduce((total, p) => total + share(i, exposure.passes.start_ns[p] ?? 0), 0);
      passes[which] = (passes[which] ?? 0) + bytes * weight(i, k) * counted;
    }
  }
  return {
    turns,
    weight,
    held,
    share,
    units: carryingUnits(passes.some((count) => count > 0) ? passes : steps),
    left_out,
    unseen: cells.reduce((total, cell) => total + cell.unseen, 0),
    seen: cells.reduce((total, cell) => total + cell.seen, 0),
  };
}

/**
 * The windows of the watches of a stratum in whole steps: the first ones after the arming, as many as next to no watch makes its last
 * trap in. A step stands still while its CPU arms a watch, and one that was to begin meanwhile begins right after: neither moves a pass
 * from one step to another, so that steps that are counted whole have as many passes as ever. What comes after a step belongs to it, up to the next one.
 * A watch that was armed in a prompt may have ended there before the steps began, so that none of its steps count; where too many steps
 * come right after a prompt, or far more watches tell so, they do, if next to no pass is lost.
 * @param members exposures
 * @returns null where no such window holds next to all passes, or too many of the steps fit into none
 */
export function turnWindows(set: WatchSet, members: readonly number[]): TurnWindows | null {
  if (set.span.tokens === null) return null;
  const choices = REACHES.flatMap((reach) => windowsOf(set, members, reach) ?? []);
  const most = Math.max(...choices.map(({ units }) => units));
  return choices.find(({ units }) => units >= MOST_FEWER * most) ?? null;
}

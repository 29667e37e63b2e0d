/** One class of data, or the processes of the target, in one span of time, with all that the metrics read about it. */
import { wordsOf } from "../../schema/row.ts";
import type { RegionType, Scope } from "../../schema/words.ts";
import { type Resamples, resample } from "../../statistics/bootstrap.ts";
import { type ClassFaults, FAULT_COUNTS, type FaultCounts } from "../process/fault-sums.ts";
import type { ProcessUse } from "../process/process-readings.ts";
import { rarityOver } from "../watched/arming-density.ts";
import { type LawAt, lawsOf, withMany } from "../watched/dwell-laws.ts";
import { type Exposure, exposureIn, exposuresIn, isGivenIn } from "../watched/exposure.ts";
import { bytesError, type DesignWeights, designWeights, weightsOverTime } from "../watched/horvitz-thompson.ts";
import { lostShare } from "../watched/lost-watches.ts";
import { tellingWatches } from "../watched/named-words.ts";
import { passGapNs } from "../watched/passes.ts";
import { sharesOfTurns, stratumLives } from "../watched/stratum-life.ts";
import { meanTrapNs } from "../watched/trap-delay.ts";
import { type UnseenIn, unseenIn } from "../watched/unseen-in.ts";
import { unwatchedShare } from "../watched/unwatched.ts";
import { touchedPerSecond, unmetShare, youngShare } from "../watched/young-memory.ts";
import { meanBytes } from "./class-bytes.ts";
import type { AccessStream, AccessSums, AllocationSample, AnalysisInput, KvRowSample, WatchSample } from "./input.ts";
import { noRegions, type RegionSet, regionSets } from "./region-set.ts";
import { type Span, spansOf } from "./span.ts";

/** Watches of some designs inside the span, weighted back to bytes; arrays parallel. */
export interface WatchSet {
  readonly span: Span;
  readonly gap_ns: number;
  /** Mean time for which the program stands still in a trap. */
  readonly trap_ns: number;
  /** Share of the span in which no watch of any class began for long. */
  readonly unwatched: number;
  /** Share of the class's bytes and time in which they were too young to be drawn, or in regions that were gone before a draw met them. */
  readonly young: number;
  /** Watches of which a trap was lost, over all: as lostShare has it. */
  readonly lost: number;
  /** Bytes of pages that came by themselves, per second, as touchedPerSecond has it. */
  readonly touched_per_s: number;
  /** Draws of the same strata that fell on memory of another class, and the regions of this one. */
  readonly strays: readonly WatchSample[];
  readonly regions: RegionSet;
  readonly exposures: readonly Exposure[];
  /** By which law each was given its time: one that few were given it by counts as its neighbour. */
  readonly law: Uint32Array;
  readonly lawAt: LawAt;
  /** Of a moment: as rarityOver has it of the watches of these designs. */
  readonly rarityAt: (begin_ns: number) => number;
  readonly weights: DesignWeights;
  /** Standard error of the bytes of all of its strata over them. */
  readonly bytes_error: () => number;
  readonly resamples: () => Resamples;
  /** Of what this is a part in time: what a program does of its watches there it does here too. */
  readonly whole?: WatchSet;
  /** What no watch could see in a part of the span; nothing where absent. */
  readonly unseenIn?: UnseenIn;
}

/** What a figure is of: a class of data, or the target as a whole. */

export interface Group {
  readonly input: AnalysisInput;
  readonly scope: Scope;
  readonly region_type: RegionType | "all";
  readonly mapping_kind: string | null;
  readonly span: Span;
  /** True for a span of which only what was counted is told: nothing is estimated of it. */
  readonly is_counted_only: boolean;
  readonly gap_ns: number;
  readonly regions: RegionSet;
  readonly kvRows: readonly KvRowSample[];
  /** Why the engine's steps do not tell the lives of the KV rows; null where they do, and for what is no cache. */
  readonly kvUntold: string | null;
  /** What memray saw, of which the group then is; null for every other group. */
  readonly allocations: AllocationSample | null;
  /** What /proc said of the processes of the target in the span; null for a class, and where nobody read it. */
  readonly use: ProcessUse | null;
  /** Page faults in the span; null where none were recorded, or of what memray saw. */
  readonly faults: FaultCounts | null;
  /** Sampled accesses inside the span; none for the whole of a phase that has steps, since lines cannot be added up. */
  readonly sums: readonly AccessSums[];
  /** Sampled sources that saw the class in any span, and their rows. */
  readonly sampled: ReadonlyMap<string, number>;
  /** Every access of the class, where that is known; in the whole of a run without steps. */
  readonly stream: AccessStream | null;
  /** Resamples of so many blocks of time or groups of addresses; the same ones for every class. */
  readonly blocks: (count: number) => Resamples;
  /** Uniform draws (designs short and long) that see loads and stores. */
  readonly uniform: WatchSet;
  /** The same, and those that see stores only. */
  readonly stores: WatchSet;
  /** Every watch of the class, whatever its design. */
  readonly every: WatchSet;
}

interface SetPlace {
  readonly span: Span;
  readonly gap: number;
  readonly trap: number;
  readonly unwatched: number;
  readonly young: number;
  readonly lost: number;
  readonly touched_per_s: number;
  readonly seed: number;
  /** Of a moment: as rarityOver has it of the watches of these designs. */
  readonly rarityAt: (begin_ns: number) => number;
  readonly lawAt: LawAt;
  readonly strays: readonly WatchSample[];
  readonly regions: RegionSet;
  /** Bytes of the class in the mean of the span, by the map; absent where only some of what is mapped is drawn. */
  readonly mean_bytes?: number;
  /** As sharesOfTurns has it; not known where absent. */
  readonly turnsOf?: ReturnType<typeof sharesOfTurns>;
  /** What a watch saw in the span, made once for all who ask; made anew where absent. */
  readonly exposureOf?: (watch: WatchSample, i: number) => Exposure | null;
  readonly whole?: WatchSet;
  readonly unseenIn?: UnseenIn;
}

export function watchSet(watches: readonly WatchSample[], place: SetPlace, stream: number): WatchSet {
  const { span, gap, trap, unwatched, young, lost, touched_per_s, seed, lawAt, strays, regions } = place;
  const { exposureOf = (watch: WatchSample) => exposureIn(watch, span, gap) } = place;
  const exposures = watches.flatMap((watch, i) => exposureOf(watch, i) ?? []);
  const found = exposures.map(({ watch }) => watch);
  const elsewhere = strays.filter((watch) => isGivenIn(watch, span));
  const lives = stratumLives([...found, ...elsewhere], regions, span, place.turnsOf);
  const strayed = new Set(elsewhere.map(({ stratum }) => stratum));
  const designed = designWeights(found, place.rarityAt, elsewhere, (stratum) => lives(stratum).share);
  const hasAll = (stratum: string): boolean => !strayed.has(stratum);
  const weights = weightsOverTime(found, designed, span, hasAll, lives);
  const bytes_error = (): number => bytesError(found, weights, span, hasAll, lives);
  const { mean_bytes = 0 } = place;
  const unmet = unmetShare(found, weights.total_bytes, bytes_error, { regions, span, mean_bytes });
  let drawn: Resamples | null = null;
  return {
    span,
    gap_ns: gap,
    trap_ns: trap,
    unwatched,
    young: Math.min(1, young + unmet),
    lost,
    touched_per_s,
    strays,
    regions,
    exposures,
    law: withMany(found.map(({ begin_ns }) => lawAt(begin_ns))),
    lawAt,
    rarityAt: place.rarityAt,
    weights,
    bytes_error,
    ...(place.whole === undefined ? {} : { whole: place.whole }),
    ...(place.unseenIn === undefined ? {} : { unseenIn: place.unseenIn }),
    resamples: () => {
      drawn ??= resample(weights.stratum, seed, stream);
      return drawn;
    },
  };
}

/**
 * The watches of a set in a part of its span; all moments of the part count alike, but where watches were given time by several laws. Few watches hear nothing of what
 * all of them do: the part is judged by both. When pages came is not told, so that all of them may have come in it.
 */
export function setWithin(set: WatchSet, span: Span, seed: number, stream: number): WatchSet {
  const watches = set.exposures.map(({ watch }) => watch);
  const rarityAt = set.law.some((law) => law > 0) ? set.rarityAt : () => 1;
  const exposureOf = (watch: WatchSample, i: number) => exposureIn(watch, span, set.gap_ns, set.exposures[i]);
  const { unwatched, young, lost } = set.unseenIn?.(span) ?? { unwatched: 0, young: 0, lost: 0 };
  const unseen = {
    unwatched,
    young: Math.max(set.young, young),
    lost: Math.max(set.lost, lost),
    touched_per_s: (set.touched_per_s * set.span.window_ns) / Math.max(1, span.window_ns),
  };
  const place = { ...set, ...unseen, span, gap: set.gap_ns, trap: set.trap_ns, seed, rarityAt, exposureOf, whole: set };
  return watchSet(watches, place, stream);
}

export const isUniform = (w: WatchSample): boolean => w.design === "short" || w.design === "long";
export const isReadable = (w: WatchSample): boolean => isUniform(w) && w.mode !== "w";
/**
 * Watches that tell how densely those of some designs began: what goes to rows ahead does so in turns of a cache alone, which its draws note, so that
 * without these every other class would seem to be looked at less while there are such rows.
 */
export const tellDensity =
  (isOne: (w: WatchSample) => boolean) =>
  (w: WatchSample): boolean =>
    isOne(w) || w.design === "ahead";

/** Classes by name; data without a class by its kind of mapping. */
function keyOf(place: { region_type: RegionType; mapping_kind: string | null }): string {
  return place.region_type === "unknown" ? `unknown/${place.mapping_kind ?? ""}` : place.region_type;
}

function split<T extends { region_type: RegionType; mapping_kind: string | null }>(
  rows: readonly T[],
): Map<string, T[]> {
  const out = new Map<string, T[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const list = out.get(key);
    if (list) list.push(row);
    else out.set(key, [row]);
  }
  return out;
}

function rowsBySource(sums: readonly AccessSums[]): Map<string, number> {
  const out = new Map<string, number>();
  for (const sum of sums) out.set(sum.source, (out.get(sum.source) ?? 0) + sum.rows);
  return out;
}

/** Stream of the random numbers for blocks. */
const BLOCK_STREAM = 1005;

/** Resamples by number of units, drawn when first asked for. */
export function blockResamples(seed: number): (count: number) => Resamples {
  const drawn = new Map<number, Resamples>();
  return (count) => {
    const resamples = drawn.get(count) ?? resample(new Uint8Array(count), seed, BLOCK_STREAM);
    drawn.set(count, resamples);
    return resamples;
  };
}

const NO_REGIONS: RegionSet = { all: noRegions(), rows: new Uint32Array(0) };

/** A group of which nothing is known yet. */
export function emptyGroup(input: AnalysisInput, span: Span, gap_ns: number, blocks: Group["blocks"]): Group {
  const nothing = {
    unwatched: 0,
    young: 0,
    lost: 0,
    touched_per_s: 0,
    strays: [],
    regions: NO_REGIONS,
    rarityAt: () => 1,
    lawAt: () => 0,
    trap: meanTrapNs(input.trap_cost_ns),
  };
  const none = watchSet([], { ...nothing, span, gap: gap_ns, seed: input.seed }, 0);
  return {
    input,
    scope: "class",
    region_type: "all",
    mapping_kind: null,
    span,
    is_counted_only: false,
    gap_ns,
    regions: NO_REGIONS,
    kvRows: [],
    kvUntold: null,
    allocations: null,
    use: null,
    faults: null,
    sums: [],
    sampled: new Map(),
    stream: null,
    blocks,
    uniform: none,
    stores: none,
    every: none,
  };
}

/** What memray saw, in the whole run: the process lives outside of its generation too. */
function allocationGroups(input: AnalysisInput, gap: number, blocks: Group["blocks"]): Group[] {
  const [whole] = spansOf([], input.window_ns);
  if (whole === undefined) return [];
  return input.allocations.map((allocations) => ({
    ...emptyGroup(input, whole, gap, blocks),
    region_type: "runtime",
    mapping_kind: allocations.mapping_kind,
    allocations,
  }));
}

/** The target as a whole, in every span of which something was counted. */
function processGroups(input: AnalysisInput, gap: number, blocks: Group["blocks"]): Group[] {
  const { counts } = input;
  const spans = counts?.spans ?? spansOf([], input.window_ns);
  return spans.map((span, i) => ({
    ...emptyGroup(input, span, gap, blocks),
    scope: "process",
    is_counted_only: true,
    use: counts?.process?.[i] ?? null,
    faults: counts?.faults?.all[i] ?? null,
  }));
}

/** Watches of the sets of a group: those that see reads, those that see writes, all. */
const DESIGNS = [isReadable, isUniform, () => true] as const;

const isSame = (a: Span, b: Span): boolean => a.phase === b.phase && a.step === b.step;
const NO_FAULTS = Object.fromEntries(FAULT_COUNTS.map((name) => [name, 0])) as FaultCounts;

/** The faults of a class in a span: none where it had none, null where none were recorded of any. */
function countedIn({ counts }: AnalysisInput, faults: ClassFaults | undefined): (span: Span) => FaultCounts | null {
  if (counts?.faults == null) return () => null;
  return (span) => faults?.spans[counts.spans.findIndex((one) => isSame(one, span))] ?? NO_FAULTS;
}

/** The same of a class by its words. */
export function faultsOfClass(
  input: AnalysisInput,
  place: { readonly region_type: RegionType; readonly mapping_kind: string | null },
  span: Span,
): FaultCounts | null {
  const key = keyOf(place);
  return countedIn(
    input,
    input.counts?.faults?.classes.find((one) => keyOf(one) === key),
  )(span);
}

const ORDER: readonly string[] = wordsOf("tensor", "region_type");

/** What says of what a group is. */
type GroupPlace = Pick<Group, "scope" | "region_type" | "mapping_kind" | "span">;

/** The groups of `eachGroup`, all of them held. */
export const groupsOf = (input: AnalysisInput, isWanted?: (place: GroupPlace) => boolean): Group[] => [
  ...eachGroup(input, isWanted),
];

/**
 * Every class of the run in every span, in the order in which tables show them, and the target as a whole. What each holds of its watches, and what
 * metrics make of it, is more than these: who gives up one before the next is made needs memory for one alone.
 * @param isWanted all are, unless told
 */
export function* eachGroup(
  input: AnalysisInput,
  isWanted: (place: GroupPlace) => boolean = () => true,
): Generator<Group, void, void> {
  const spans = spansOf(input.steps, input.window_ns);
  const gap = passGapNs(input.trap_cost_ns);
  const trap = meanTrapNs(input.trap_cost_ns);
  const blocks = blockResamples(input.seed);
  const telling = tellingWatches(input.watches);
  const watches = split(telling);
  const lost = lostShare(input);
  const lawAt = lawsOf(telling);
  const unwatched = spans.map((span) => unwatchedShare(telling, span, input, lawAt));
  const rarity = {
    readable: rarityOver(telling.filter(tellDensity(isReadable)), lawAt, input.passed_over),
    storing: rarityOver(telling.filter(tellDensity(isUniform)), lawAt, input.passed_over),
    every: rarityOver(telling, lawAt, input.passed_over),
  };
  const turns = spans.map((span) => sharesOfTurns(telling, span, rarity.every));
  const regions = regionSets(input.regions, keyOf);
  const sums = split(input.accessSums);
  const streams = split(input.streams);
  const faults = split(input.counts?.faults?.classes ?? []);
  const keys = new Set([...watches.keys(), ...regions.keys(), ...sums.keys(), ...streams.keys(), ...faults.keys()]);
  if (input.kvRows.length > 0 || input.kvUntold !== null) keys.add("kv_cache");
  // Where nothing was seen of any class, that is said once.
  if (keys.size === 0 && input.allocations.length === 0 && input.sight.length > 0) keys.add("unknown/");
  const rank = (key: string): number => (ORDER.includes(key) ? ORDER.indexOf(key) : ORDER.length);
  const sorted = [...keys].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  for (const [k, key] of sorted.entries()) {
    const unknown = key.startsWith("unknown/");
    const mine = watches.get(key) ?? [];
    const readable = mine.filter(isReadable);
    const storing = mine.filter(isUniform);
    const strata = new Set(mine.map(({ stratum }) => stratum));
    const strays = telling.filter((watch) => strata.has(watch.stratum) && keyOf(watch) !== key);
    const kind = {
      region_type: unknown ? ("unknown" as const) : (key as RegionType),
      mapping_kind: unknown ? key.slice("unknown/".length) || null : null,
    };
    const counted = countedIn(input, faults.get(key)?.[0]);
    const others = (input.counts?.spans ?? []).filter((one) => !spans.some((span) => isSame(span, one)));
    for (const [s, span] of spans.entries()) {
      if (!isWanted({ scope: "class", ...kind, span })) continue;
      const stream = 16 * (k * spans.length + s);
      const ofClass = regions.get(key) ?? NO_REGIONS;
      const young = mine.length > 0 ? youngShare(ofClass, span, input.draw_lag_ns ?? 0) : 0;
      const touched_per_s = touchedPerSecond({ ...kind, span, faults: counted(span) }, (all) => all.first_touches);
      const seen = { unwatched: unwatched[s] ?? 0, young, lost, touched_per_s };
      const inPart = unseenIn(input, ofClass, telling, { lawAt, lost });
      const lives = { regions: ofClass, turnsOf: turns[s] ?? (() => null) };
      // Of the others only what is in memory is drawn.
      const isDrawnWhole = !unknown && kind.region_type !== "runtime";
      const byMap = isDrawnWhole && mine.length > 0 ? { mean_bytes: meanBytes(ofClass, span) } : {};
      const exposureOf = exposuresIn(span, gap);
      const place = {
        span,
        gap,
        trap,
        ...seen,
        ...byMap,
        seed: input.seed,
        lawAt,
        ...lives,
        exposureOf,
        unseenIn: inPart,
      };
      const set = (some: readonly WatchSample[], rarityAt: SetPlace["rarityAt"], which: 0 | 1 | 2): WatchSet =>
        watchSet(some, { ...place, rarityAt, strays: strays.filter(DESIGNS[which]) }, stream + which);
      const uniform = set(readable, rarity.readable, 0);
      yield {
        ...emptyGroup(input, span, gap, blocks),
        ...kind,
        faults: counted(span),
        regions: ofClass,
        kvRows: key === "kv_cache" && input.kvUntold === null ? input.kvRows : [],
        kvUntold: key === "kv_cache" ? input.kvUntold : null,
        sums: (sums.get(key) ?? []).filter((sum) => sum.step === (span.step === "all" ? "none" : span.step)),
        sampled: rowsBySource(sums.get(key) ?? []),
        stream: span.phase === "all" ? (streams.get(key)?.[0] ?? null) : null,
        uniform,
        stores: storing.length === readable.length ? uniform : set(storing, rarity.storing, 1),
        every: mine.length === readable.length ? uniform : set(mine, rarity.every, 2),
      };
    }
    for (const span of others) {
      const place = { ...kind, is_counted_only: true, regions: regions.get(key) ?? NO_REGIONS, faults: counted(span) };
      const group = { ...emptyGroup(input, span, gap, blocks), ...place };
      if (isWanted(group)) yield group;
    }
  }
  yield* [...allocationGroups(input, gap, blocks), ...processGroups(input, gap, blocks)].filter(isWanted);
}

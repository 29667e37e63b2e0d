/** One class of data, or the processes of the target, in one span of time, with all that the metrics read about it. */
import { wordsOf } from "../../schema/row.ts";
import type { RegionType, Scope } from "../../schema/words.ts";
import { type Resamples, resample } from "../../statistics/bootstrap.ts";
import { type ClassFaults, FAULT_COUNTS, type FaultCounts } from "../process/fault-sums.ts";
import type { ProcessUse } from "../process/process-readings.ts";
import { rarityOver } from "../watched/arming-density.ts";
import { armingsOf } from "../watched/counting/arming-holds.ts";
import { lawsOf } from "../watched/dwell-laws.ts";
import { exposuresIn } from "../watched/exposure.ts";
import { lostShare } from "../watched/lost-watches.ts";
import { tellingWatches } from "../watched/named-words.ts";
import { passGapNs } from "../watched/passes.ts";
import { trapsOf } from "../watched/rate/held-up.ts";
import { sharesOfTurns } from "../watched/stratum-life.ts";
import { meanTrapNs } from "../watched/trap-delay.ts";
import { unlookedIn, unseenIn } from "../watched/unseen-in.ts";
import { unwatchedShare } from "../watched/unwatched.ts";
import { touchedPerSecond, youngShare } from "../watched/young-memory.ts";
import { meanBytes } from "./class-bytes.ts";
import type { AccessStream, AccessSums, AllocationSample, AnalysisInput, KvRowSamples, WatchSample } from "./input.ts";
import { noRegions, type RegionSet, regionSets } from "./region-set.ts";
import { type Span, spansOf } from "./span.ts";
import { type SetPlace, type WatchSet, watchSet } from "./watch-set.ts";

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
  readonly kvRows: KvRowSamples;
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
export const groupsOf = (input: AnalysisInput): Group[] => [...eachGroup(input)];

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
  const trapsIn = trapsOf(telling);
  const armingsIn = armingsOf(input.watches);
  const lawAt = lawsOf(telling);
  const unlooked = unlookedIn(input, telling, { lawAt, lost });
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
      const inPart = unseenIn(input, ofClass, unlooked);
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
        trapsIn,
        armingsIn,
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

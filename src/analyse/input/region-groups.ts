/** Single regions as groups: the watches that fell into one are drawn uniformly from it, or from each of the strata that share it. */
import type { PlaceIndex } from "../../label/regions/place-index.ts";
import { rarityOver } from "../watched/arming-density.ts";
import { lawsOf } from "../watched/dwell-laws.ts";
import { lostShare } from "../watched/lost-watches.ts";
import { tellingWatches } from "../watched/named-words.ts";
import { passGapNs } from "../watched/passes.ts";
import { meanTrapNs } from "../watched/trap-delay.ts";
import { unwatchedShare } from "../watched/unwatched.ts";
import { touchedPerSecond, youngShare } from "../watched/young-memory.ts";
import { blockResamples, emptyGroup, faultsOfClass, type Group, isReadable, isUniform, tellDensity } from "./group.ts";
import type { AnalysisInput, WatchSample } from "./input.ts";
import type { RegionSet } from "./region-set.ts";
import { spansOf } from "./span.ts";
import { watchSet } from "./watch-set.ts";

/** Of fewer watches no figure is told. */
const FEWEST_WATCHES = 30;
/** Regions on which most watches fell: bounds the time. */
const MOST_REGIONS = 128;
/** Streams of random numbers: far from those of classes and of bins of time. */
const STREAM = 1 << 20;

export interface RegionGroup {
  /** Row of the region, from 0. */
  readonly row: number;
  readonly group: Group;
}

/** The watches by the region that held their word when they were armed. */
function byRegion(watches: readonly WatchSample[], index: PlaceIndex): [row: number, watches: WatchSample[]][] {
  const found = new Map<number, WatchSample[]>();
  for (const watch of watches) {
    const row = index.find(watch.pid, Number(watch.addr), watch.begin_ns);
    if (row < 0) continue;
    const list = found.get(row);
    if (list) list.push(watch);
    else found.set(row, [watch]);
  }
  const enough = [...found].filter(([, list]) => list.filter(isReadable).length >= FEWEST_WATCHES);
  return enough.sort(([a, one], [b, other]) => other.length - one.length || a - b).slice(0, MOST_REGIONS);
}

/**
 * Bytes of a region that each stratum has, by stratum: as large a share of the stratum's as of its draws fell there, so that all together are those of the region.
 * @param all watches of every region
 */
function stratumBytes(
  watches: readonly WatchSample[],
  all: ReadonlyMap<string, number>,
  bytes: number,
): Map<string, number> {
  const found = new Map<string, number>();
  for (const { stratum, stratum_bytes } of watches)
    found.set(stratum, (found.get(stratum) ?? 0) + stratum_bytes / (all.get(stratum) ?? 1));
  const sum = [...found.values()].reduce((total, one) => total + one, 0);
  return new Map([...found].map(([stratum, one]) => [stratum, sum > 0 ? (bytes * one) / sum : bytes]));
}

/** Regions with enough watches, most watched first, in the whole of generation or of a run without steps; none is held beside the next. */
export function* regionGroups(input: AnalysisInput, index: PlaceIndex): Generator<RegionGroup, void, void> {
  const [span] = spansOf(input.steps, input.window_ns);
  if (span === undefined) return;
  const gap = passGapNs(input.trap_cost_ns);
  const trap = meanTrapNs(input.trap_cost_ns);
  const blocks = blockResamples(input.seed);
  const telling = tellingWatches(input.watches);
  const uniform = telling.filter(isUniform);
  const lawAt = lawsOf(telling);
  const rarity = {
    readable: rarityOver(telling.filter(tellDensity(isReadable)), lawAt, input.passed_over),
    storing: rarityOver(telling.filter(tellDensity(isUniform)), lawAt, input.passed_over),
  };
  const { regions, seed } = input;
  const unwatched = unwatchedShare(telling, span, input, lawAt);
  const lost = lostShare(input);
  const draws = new Map<string, number>();
  for (const { stratum } of uniform) draws.set(stratum, (draws.get(stratum) ?? 0) + 1);
  for (const [row, watches] of byRegion(uniform, index)) {
    const bytes = (regions.end[row] as number) - (regions.begin[row] as number);
    const facts = regions.facts[regions.what[row] as number];
    const ofStratum = stratumBytes(watches, draws, bytes);
    const drawn = watches.map((watch) => {
      const stratum_bytes = ofStratum.get(watch.stratum) ?? bytes;
      return { ...watch, stratum_bytes, inclusion_probability: Math.min(1, watch.size_bytes / stratum_bytes) };
    });
    const readable = drawn.filter(isReadable);
    const region: RegionSet = { all: regions, rows: Uint32Array.of(row) };
    const young = youngShare(region, span, input.draw_lag_ns ?? 0);
    const region_type = facts?.region_type ?? "unknown";
    const kind = { region_type, mapping_kind: region_type === "unknown" ? (facts?.mapping_kind ?? null) : null };
    // On which of its regions the pages of a class were touched first is not counted: all of them may have been of this one.
    const faults = faultsOfClass(input, kind, span);
    const touched_per_s = touchedPerSecond({ ...kind, span, faults }, (all) => all.first_touches);
    const seen = { unwatched, young, lost, touched_per_s };
    const place = { span, gap, trap, ...seen, seed, lawAt, strays: [], regions: region };
    const set = watchSet(readable, { ...place, rarityAt: rarity.readable }, STREAM + 2 * row);
    const group: Group = {
      ...emptyGroup(input, span, gap, blocks),
      ...kind,
      faults,
      regions: region,
      uniform: set,
      stores:
        readable.length === drawn.length
          ? set
          : watchSet(drawn, { ...place, rarityAt: rarity.storing }, STREAM + 2 * row + 1),
      every: set,
    };
    yield { row, group };
  }
}

/** Draws the bytes of the next watch: turns over strata, and every word of a stratum equally likely. */
import type { RegionType } from "../../../schema/words.ts";
import type { Random } from "../../../statistics/prng.ts";
import type { ResidentWords } from "./frame/resident-words.ts";
import { type Drawable, sharesOfStrata } from "./stratum-turns.ts";

/** A live region that may be watched; regions of one stratum should not overlap. */
export interface DrawRegion {
  readonly pid: number;
  readonly addr: bigint;
  readonly size_bytes: number;
  /** As `stratumOf` names it. */
  readonly stratum: string;
  readonly region_type: RegionType;
  readonly tensor: string | null;
  /** Turns of its stratum beside another with 1; those of its class where it is absent. */
  readonly turns?: number;
  /** Of a part of another stratum: what it has of the turns of both; turns of its own where it is absent. */
  readonly part_of_turns?: number;
  /** True where only the words that are in memory are drawn. */
  readonly resident_only?: boolean;
}

export interface Draw {
  readonly region: DrawRegion;
  /** Aligned to `sizeBytes`. */
  readonly addr: bigint;
  /** 8 unless the region was smaller. */
  readonly sizeBytes: number;
  /** Bytes of the words that could have been drawn; an estimate where only those in memory can. */
  readonly stratumBytes: number;
  /** Probability of these bytes, given the stratum: one word of all its words. */
  readonly inclusionProbability: number;
  /** Share of the turns that the stratum has, of those that find something to draw. */
  readonly drawWeight: number;
}

/** The words of one stratum, laid end to end. */
export interface Frame {
  readonly regions: readonly DrawRegion[];
  /** Words up to and with region i. */
  readonly words: Float64Array;
  readonly bytes: number;
}

const WORD_BYTES = [8, 4, 2, 1] as const;

interface Words {
  readonly first: bigint;
  readonly sizeBytes: number;
  readonly count: number;
}

/** The aligned words of a region, of the largest size that fits; bytes beside them are never drawn. */
export function wordsOf(addr: bigint, sizeBytes: number): Words | null {
  for (const size of WORD_BYTES) {
    const step = BigInt(size);
    const first = ((addr + step - 1n) / step) * step;
    const count = Math.floor((sizeBytes - Number(first - addr)) / size);
    if (count > 0) return { first, sizeBytes: size, count };
  }
  return null;
}

/** Lays the words of `regions` end to end; regions without a word are left out. */
export function frameOf(regions: readonly DrawRegion[]): Frame {
  const kept: DrawRegion[] = [];
  const words: number[] = [];
  let total = 0;
  let bytes = 0;
  for (const region of regions) {
    const found = wordsOf(region.addr, region.size_bytes);
    if (!found) continue;
    total += found.count;
    bytes += found.count * found.sizeBytes;
    kept.push(region);
    words.push(total);
  }
  return { regions: kept, words: Float64Array.from(words), bytes };
}

/** One word of a frame, each equally likely; null where the frame is empty. */
export function drawWord(frame: Frame, random: Random, drawWeight: number): Draw | null {
  const total = frame.words.at(-1) ?? 0;
  if (total === 0) return null;
  const index = Math.min(Math.floor(random() * total), total - 1);
  let low = 0;
  let high = frame.words.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((frame.words[middle] ?? 0) > index) high = middle;
    else low = middle + 1;
  }
  const region = frame.regions[low];
  const words = region && wordsOf(region.addr, region.size_bytes);
  if (!words) return null;
  const within = index - (frame.words[low - 1] ?? 0);
  return {
    region,
    addr: words.first + BigInt(within) * BigInt(words.sizeBytes),
    sizeBytes: words.sizeBytes,
    stratumBytes: frame.bytes,
    inclusionProbability: 1 / total,
    drawWeight,
  };
}

const LINE_BYTES = 64n;

/** Another word of the same 64-byte line and region, each equally likely; null where there is none. */
export function lineMate(draw: Draw, random: Random): Draw | null {
  const step = BigInt(draw.sizeBytes);
  const line = draw.addr - (draw.addr % LINE_BYTES);
  const end = draw.region.addr + BigInt(draw.region.size_bytes);
  const others: bigint[] = [];
  for (let addr = line; addr < line + LINE_BYTES; addr += step) {
    if (addr !== draw.addr && addr >= draw.region.addr && addr + step <= end) others.push(addr);
  }
  const addr = others[Math.floor(random() * others.length)];
  return addr === undefined ? null : { ...draw, addr };
}

export interface Drawer {
  /** The next draw from the live regions, a new list whenever they changed; null where nothing can be drawn. */
  draw(regions: readonly DrawRegion[]): Draw | null;
  /** Another draw from the same stratum, in the same turn; null where it has nothing to draw any more. */
  drawAgain(regions: readonly DrawRegion[], stratum: string): Draw | null;
  /** True where the last draw of every stratum found nothing: no other has the turns of an empty one. */
  findsNothing(): boolean;
}

/** Tries for a word that is in memory: a stratum where 1 % is has one in 9 of 10 turns. */
const TRIES = 256;

/**
 * A word of a frame that is in memory, each equally likely: words are drawn until one is. Null where none was found,
 * so that a stratum in which nearly nothing is holds nobody up.
 */
function drawResident(frame: Frame, stratum: string, draw: () => Draw | null, resident: ResidentWords): Draw | null {
  for (let i = 0; i < TRIES; i++) {
    const drawn = draw();
    if (drawn === null) return null;
    if (!resident.has(drawn.region, drawn.addr)) continue;
    const bytes = resident.bytesOf(stratum, frame);
    const inclusionProbability = Math.min(1, (drawn.inclusionProbability * frame.bytes) / bytes);
    return { ...drawn, stratumBytes: Math.round(bytes), inclusionProbability };
  }
  return null;
}

const ALL_WORDS: ResidentWords = { has: () => true, bytesOf: (_, { bytes }) => bytes };

/**
 * Smooth weighted turns: each stratum earns its share every turn, the richest is drawn and pays one.
 * @param resident which words are in memory; all of them unless told
 */
export function createDrawer(random: Random, resident: ResidentWords = ALL_WORDS): Drawer {
  let lastRegions: readonly DrawRegion[] | null = null;
  let frames = new Map<string, Frame>();
  let strata = new Map<string, Drawable>();
  /** Share of the bytes of each that was in memory at its last draw. */
  const inMemory = new Map<string, number>();
  const credit = new Map<string, number>();

  /** Address space that is mostly empty, as a large file that is hardly touched, has the turns of what is in memory. */
  function sharesNow(): Map<string, number> {
    const there = [...strata].map(([stratum, facts]): [string, Drawable] => {
      return [stratum, { ...facts, bytes: facts.bytes * (inMemory.get(stratum) ?? 1) }];
    });
    return sharesOfStrata(new Map(there));
  }
  function learn(regions: readonly DrawRegion[]): void {
    lastRegions = regions;
    frames = new Map();
    strata = new Map();
    for (const [stratum, members] of Map.groupBy(regions, (region) => region.stratum)) {
      const frame = frameOf(members);
      if (frame.bytes === 0) continue;
      frames.set(stratum, frame);
      const { region_type = "unknown", turns, part_of_turns } = members[0] ?? {};
      strata.set(stratum, { region_type, bytes: frame.bytes, turns, part_of_turns });
    }
    for (const [stratum, share] of sharesNow()) {
      // A random start, so that no stratum is always the first of a run.
      if (!credit.has(stratum)) credit.set(stratum, random() * share);
    }
  }
  /** A turn that found nothing is not spent, so that all others have its turns as long as its stratum is empty. */
  function shareOfFound(stratum: string, shares: ReadonlyMap<string, number>): number {
    let empty = 0;
    for (const [other, share] of shares) if (other !== stratum && inMemory.get(other) === 0) empty += share;
    return (shares.get(stratum) ?? 0) / (1 - empty);
  }
  function drawIn(stratum: string, shares: ReadonlyMap<string, number>): Draw | null {
    const frame = frames.get(stratum);
    if (!frame) return null;
    const share = shareOfFound(stratum, shares);
    const drawn = drawResident(frame, stratum, () => drawWord(frame, random, share), resident);
    inMemory.set(stratum, drawn === null ? 0 : drawn.stratumBytes / frame.bytes);
    return drawn;
  }
  return {
    draw(regions) {
      if (regions !== lastRegions) learn(regions);
      const shares = sharesNow();
      let chosen: string | null = null;
      for (const [stratum, share] of shares) {
        const earned = (credit.get(stratum) ?? 0) + share;
        credit.set(stratum, earned);
        if (chosen === null || earned > (credit.get(chosen) ?? 0)) chosen = stratum;
      }
      if (chosen === null) return null;
      credit.set(chosen, (credit.get(chosen) ?? 0) - 1);
      return drawIn(chosen, shares);
    },
    drawAgain(regions, stratum) {
      if (regions !== lastRegions) learn(regions);
      return drawIn(stratum, sharesNow());
    },
    findsNothing: () => [...strata.keys()].every((stratum) => inMemory.get(stratum) === 0),
  };
}

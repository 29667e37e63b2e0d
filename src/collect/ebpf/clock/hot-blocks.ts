/** Blocks of memory in which a timer finds the program far more often than in the rest of their stratum. */
import { firstIndex } from "../../../statistics/first-index.ts";
import type { DrawRegion } from "../watch/draw.ts";
import { type HotPart, type HotParts, splitAt } from "../watch/frame/hot-parts.ts";

export const LINE_BYTES = 64;
/** Sizes of blocks, from a page on, each four times the one before. */
const BLOCK_BYTES = [12, 14, 16, 18, 20, 22, 24].map((bits) => 2 ** bits);
const PIECES = 4;
/** A larger part of a stratum is drawn from often enough as it is: one block, and all together. */
const MOST_SHARE = 1 / 64;
const MOST_OF_ALL = 1 / 32;
/** So often at least, on so many lines: one word that is used all the time would not be drawn from its page either. */
const FEWEST_TICKS = 4;
const FEWEST_LINES = 3;
/** Times as often as in a block of the stratum on average, and by chance with this probability in any of its blocks. */
const TIMES_USUAL = 8;
const CHANCE = 0.001;
/** A quarter of a block is left out where so few ticks or fewer would fall there by chance with this probability. */
const CHANCE_OF_FEW = 0.01;
/** What was found counts half as much after this time. */
const HALF_NS = 8_000_000_000n;
/** Below it a line is forgotten, and where there are too many of them. */
const LEAST = 0.5;
const LEAST_OF_MANY = 1;
/** Lines that are remembered at a time: where more come, those are forgotten that were seen once. */
const MOST_LINES = 4096;
/** Parts of a stratum, so that lists of regions stay short. */
const MOST_PARTS = 256;
/** Blocks are looked for so often. */
const LOOK_NS = 1_000_000_000n;
/** What the hot part has of the turns of its stratum: it is small, and its words are alike more than those of both together. */
const PART_OF_TURNS = 0.25;

export interface HotBlocks extends HotParts {
  /** Takes note of an address that the program was about to access, or had just accessed. */
  add(pid: number, address: number): void;
  /** Forgets what is old, and has blocks looked for when it is time; `nowNs` is CLOCK_MONOTONIC. */
  turn(nowNs: bigint): void;
  /** Bytes of the blocks that were found last. */
  hotBytes(): number;
}

interface Line {
  readonly number: number;
  readonly ticks: number;
}

/** Those of some lines that lie in a region. @param lines of its process, in order */
function linesIn(lines: readonly Line[], { addr, size_bytes }: DrawRegion): Line[] {
  const begin = Math.floor(Number(addr) / LINE_BYTES);
  const end = (Number(addr) + size_bytes) / LINE_BYTES;
  const first = firstIndex(lines.length, (i) => (lines[i]?.number ?? 0) < begin);
  const behind = firstIndex(lines.length, (i) => (lines[i]?.number ?? 0) < end);
  return lines.slice(first, behind);
}

/** What lies in a stratum: its bytes, and its lines by process. */
interface Stratum {
  bytes: number;
  readonly lines: Map<number, Line[]>;
}

const sumOf = (lines: readonly Line[]): number => lines.reduce((sum, { ticks }) => sum + ticks, 0);

/** The most that the probability of a number so far from what is expected can be, to that side (Chernoff's bound of a Poisson number). */
const chanceOf = (ticks: number, usual: number): number =>
  Math.exp(ticks - usual - (ticks > 0 ? ticks * Math.log(ticks / usual) : 0));

/** One block with what fell there. */
interface Block extends HotPart {
  readonly pid: number;
  readonly lines: readonly Line[];
}

/** The blocks of one size in which some lines lie, at least so many in each. @param lines in order */
function blocksOf(pid: number, lines: readonly Line[], size: number, fewest = 1): Block[] {
  const found: Block[] = [];
  const perBlock = size / LINE_BYTES;
  for (let i = 0; i < lines.length; ) {
    const block = Math.floor((lines[i]?.number ?? 0) / perBlock);
    const end = (block + 1) * perBlock;
    const first = i;
    while ((lines[i]?.number ?? end) < end) i += 1;
    if (i - first < fewest) continue;
    found.push({ pid, begin: block * size, end: end * LINE_BYTES, lines: lines.slice(first, i) });
  }
  return found;
}

/** A block without the quarters that have far less than their part of it, and so on in what is left, down to pages. */
function refined(block: Block): Block[] {
  const size = (block.end - block.begin) / PIECES;
  if (size < (BLOCK_BYTES[0] ?? 0)) return [block];
  const usual = sumOf(block.lines) / PIECES;
  const used = blocksOf(block.pid, block.lines, size).filter(({ lines }) => {
    const ticks = sumOf(lines);
    return ticks >= usual || chanceOf(ticks, usual) >= CHANCE_OF_FEW;
  });
  const mayBeEmpty = chanceOf(0, usual) >= CHANCE_OF_FEW;
  return mayBeEmpty || used.length === PIECES ? [block] : used.flatMap(refined);
}

/**
 * The hot blocks of a stratum by process, in order: those of the largest size first, and of each what is hot in it.
 *
 * A block is hot where the timer found the program there 8 times as often as it would if the whole stratum were used alike, and more
 * often than chance has it in any of its blocks.
 */
export function hotBlocks({ bytes, lines }: Stratum): Map<number, HotPart[]> {
  const all = [...lines.values()].reduce((sum, some) => sum + sumOf(some), 0);
  const isHot = ({ begin, end, lines: some }: Block): boolean => {
    const usual = (all * (end - begin)) / bytes;
    const ticks = sumOf(some);
    if (some.length < FEWEST_LINES || ticks < Math.max(FEWEST_TICKS, TIMES_USUAL * usual)) return false;
    return (bytes / (end - begin)) * chanceOf(ticks, usual) < CHANCE;
  };
  const left = new Map(lines);
  const found: Block[] = [];
  for (const size of BLOCK_BYTES.filter((one) => one <= MOST_SHARE * bytes).reverse()) {
    for (const [pid, some] of left) {
      const hot = blocksOf(pid, some, size, FEWEST_LINES).filter(isHot).flatMap(refined).filter(isHot);
      const taken = new Set(hot.flatMap((block) => block.lines));
      if (taken.size > 0)
        left.set(
          pid,
          some.filter((line) => !taken.has(line)),
        );
      found.push(...hot);
    }
  }
  const density = ({ begin, end, lines: some }: Block): number => sumOf(some) / (end - begin);
  let hotBytes = 0;
  const most = found
    .sort((a, b) => density(b) - density(a))
    .slice(0, MOST_PARTS)
    .filter(({ begin, end }) => {
      hotBytes += end - begin;
      return hotBytes <= MOST_OF_ALL * bytes;
    });
  return new Map([...Map.groupBy(most, ({ pid }) => pid)].map(([pid, mine]) => [pid, apart(mine)]));
}

/** In order, those that touch as one. */
function apart(parts: readonly HotPart[]): HotPart[] {
  const out: HotPart[] = [];
  for (const part of [...parts].sort((a, b) => a.begin - b.begin || b.end - a.end)) {
    const last = out.at(-1);
    if (last !== undefined && part.begin <= last.end) {
      out[out.length - 1] = { begin: last.begin, end: Math.max(last.end, part.end) };
    } else out.push(part);
  }
  return out;
}

export function createHotBlocks(): HotBlocks {
  const processes = new Map<number, Map<number, number>>();
  let lines = 0;
  let halvedNs: bigint | null = null;
  let lookedNs: bigint | null = null;
  let isOld = true;
  let parts = new Map<string, Map<number, HotPart[]>>();

  function halve(least: number): void {
    lines = 0;
    for (const [pid, ticks] of processes) {
      for (const [line, n] of ticks) {
        if (n / 2 < least) ticks.delete(line);
        else ticks.set(line, n / 2);
      }
      if (ticks.size === 0) processes.delete(pid);
      lines += ticks.size;
    }
  }

  function look(regions: readonly DrawRegion[]): void {
    const sorted = new Map(
      [...processes].map(([pid, ticks]) => [
        pid,
        [...ticks].map(([number, n]) => ({ number, ticks: n })).sort((a, b) => a.number - b.number),
      ]),
    );
    const strata = new Map<string, Stratum>();
    for (const region of regions) {
      const stratum = strata.get(region.stratum) ?? { bytes: 0, lines: new Map() };
      strata.set(region.stratum, stratum);
      stratum.bytes += region.size_bytes;
      const mine = stratum.lines.get(region.pid) ?? [];
      mine.push(...linesIn(sorted.get(region.pid) ?? [], region));
      if (mine.length > 0) stratum.lines.set(region.pid, mine);
    }
    for (const { lines: byPid } of strata.values()) {
      for (const some of byPid.values()) some.sort((a, b) => a.number - b.number);
    }
    parts = new Map([...strata].map(([name, stratum]) => [name, hotBlocks(stratum)]));
  }

  return {
    add(pid, address) {
      let ticks = processes.get(pid);
      if (ticks === undefined) {
        ticks = new Map();
        processes.set(pid, ticks);
      }
      const line = Math.floor(address / LINE_BYTES);
      const n = ticks.get(line);
      ticks.set(line, (n ?? 0) + 1);
      if (n === undefined) lines += 1;
      if (lines > MOST_LINES) halve(LEAST_OF_MANY);
    },
    turn(nowNs) {
      halvedNs ??= nowNs;
      lookedNs ??= nowNs;
      if (nowNs - halvedNs >= HALF_NS) {
        halvedNs = nowNs;
        halve(LEAST);
      }
      if (nowNs - lookedNs < LOOK_NS) return;
      lookedNs = nowNs;
      isOld = true;
    },
    hotBytes: () =>
      [...parts.values()]
        .flatMap((byPid) => [...byPid.values()].flat())
        .reduce((sum, { begin, end }) => sum + end - begin, 0),
    split(regions) {
      if (isOld) look(regions);
      isOld = false;
      return regions.flatMap((region) => {
        const hot = parts.get(region.stratum)?.get(region.pid);
        return hot === undefined ? [region] : splitAt(region, hot, PART_OF_TURNS);
      });
    },
  };
}

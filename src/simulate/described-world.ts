/** A world as a file describes it: each run of it is another, drawn from the same description. */

import type { StepSample } from "../analyse/input/input.ts";
import {
  type DescribedStratum,
  type DescribedWorld,
  MOST_CUT,
  nameOfStratum,
  unevenOf,
} from "../config/world-schema.ts";
import { MrmTraceError } from "../errors.ts";
import type { Random } from "../statistics/prng.ts";
import { formatCount, formatCounted } from "../units.ts";
import { type Block, blocksOf } from "./described-blocks.ts";
import { type IsBusy, type Period, periodsOf } from "./described-periods.ts";
import { heatOf, periodsOfWords, type Use, wordsOf } from "./described-words.ts";
import type { World, WorldKind, WorldStratum } from "./world.ts";

/** Words of a stratum that differ, fewer where they are used often; all of its bytes repeat them. */
const WORDS = 400;
const MOST_WORDS = 4000;
const LEAST_WORDS = 100;
/** So many of them are hot, fewer where words are used often. */
const HOT_WORDS = 20;
const LEAST_HOT_WORDS = 5;
/** Of all strata: they are kept in memory, 9 bytes each, and the truth is counted over all of them. */
const MOST_ACCESSES = 1e7;
const MOST_BEYOND = 1.5;
/** Words of all blocks that differ: each is an object of its own. */
const MOST_WORDS_OF_BLOCKS = 20_000;
const LEAST_WORDS_OF_BLOCK = 10;
/** So many words stand in `bytes`: fewer where too much of them would hold no whole series of so many. */
function dividing(bytes: number, wanted: number): number {
  const all = Math.floor(bytes / 8);
  const count = Math.min(all, wanted);
  return all % count <= MOST_CUT * all ? count : Math.floor(all / Math.ceil(all / count));
}

/** How many words of a stratum differ. @param most accesses that there is memory for */
function differingWords(described: DescribedStratum, usedNs: number, most: number): number {
  const { bytes, period, touches, hot, pareto } = described;
  const rare = pareto === undefined ? (hot?.share ?? 1) : HOT_WORDS / MOST_WORDS;
  const wanted = Math.min(MOST_WORDS, Math.max(WORDS, Math.ceil(HOT_WORDS / rare)));
  const least = hot === undefined ? LEAST_WORDS : Math.max(LEAST_WORDS, Math.ceil(LEAST_HOT_WORDS / hot.share));
  const fitting = Math.floor((most * period) / (touches * usedNs * heatOf(described)));
  return dividing(bytes, Math.min(wanted, Math.max(least, fitting)));
}

/** How many words of each block of a stratum differ. @param usedNs of all blocks together */
function differingInBlock(described: DescribedStratum, blocks: number, usedNs: number, { most, strata }: Room): number {
  const { bytes, period, touches } = described;
  const fitting = Math.floor((most * period) / (touches * usedNs * heatOf(described)));
  const wanted = Math.min(WORDS, Math.floor(MOST_WORDS_OF_BLOCKS / strata / blocks));
  return dividing(bytes, Math.max(LEAST_WORDS_OF_BLOCK, Math.min(wanted, fitting)));
}

/** The error for a stratum that cannot be had. @param stratum its number, from 0 */
export type Refuse = (stratum: number, message: string, hint: string) => MrmTraceError;

const refusal: Refuse = (_, message, hint) => new MrmTraceError("usage", message, hint);

function tooMany(name: string, accesses: number, words: number, strata: number): string {
  const most = MOST_ACCESSES / strata;
  const kept = strata === 1 ? "so many are" : `${formatCount(MOST_ACCESSES)} are`;
  const each = strata === 1 ? "" : `, as many of each of ${strata} strata`;
  return `stratum ${name} would have ${formatCount(accesses)} accesses to ${formatCounted(words, "word")}, more than ${formatCount(most)}: ${kept} kept in memory${each}`;
}

/** What there is memory for. */
interface Room {
  /** Accesses to the words of a stratum. */
  readonly most: number;
  /** How many strata share all of it. */
  readonly strata: number;
}

interface Shape extends Room, Use {
  readonly refuse: (message: string, hint: string) => MrmTraceError;
}

/** Refuses more accesses than there is memory for: the mean was kept to; single words that are used far more often may go beyond. */
function refuseTooMany(described: DescribedStratum, accesses: number, words: number, { most, strata, refuse }: Shape) {
  if (accesses <= MOST_BEYOND * most) return;
  const blocks = described.blocks === undefined ? "" : "blocks.every longer, ";
  throw refuse(
    tooMany(nameOfStratum(described), accesses, words, strata),
    `make its period longer, its touches fewer, hot.times or sigma smaller, pareto larger, ${blocks}the run shorter, or describe fewer strata`,
  );
}

/** Those of some periods that lie in a time, at least in part. */
const periodsIn = (periods: readonly Period[] | null, [from, until]: Period): Period[] | null =>
  periods?.filter(([begin, end]) => end > from && begin < until) ?? null;

const lengthOf = ([from, until]: Period): number => until - from;

const accessesOf = (periods: readonly number[], touches: number, usedNs: number): number =>
  periods.reduce((sum, each) => sum + (touches * usedNs) / each, 0);

function stratumOf(described: DescribedStratum, shape: Shape, place: number, random: Random): WorldStratum {
  const { class: region_type, bytes, touches, hot } = described;
  const usedNs = lengthOf(shape.used);
  const count = differingWords(described, usedNs, shape.most);
  const hotCount = hot === undefined ? 0 : Math.round(hot.share * count);
  const periods = periodsOfWords(described, count, random, (word) => word < hotCount);
  refuseTooMany(described, accessesOf(periods, touches, usedNs), count, shape);
  const words = wordsOf(described, periods, shape, null, random);
  return { stratum: nameOfStratum(described), region_type, words, place, repeats: Math.floor(bytes / 8 / count) };
}

/** A stratum of memory that comes and goes: one for each block. @param firstPlace place of the first of them */
function strataOfBlocks(
  described: DescribedStratum,
  blocks: readonly Block[],
  shape: Shape,
  firstPlace: number,
  random: Random,
): WorldStratum[] {
  const { class: region_type, bytes, touches, hot } = described;
  const usedOf = ({ life_ns: [born, freed] }: Block): Period => [
    Math.max(shape.used[0], born),
    Math.min(shape.used[1], freed),
  ];
  const usedNs = blocks.reduce((sum, block) => sum + lengthOf(usedOf(block)), 0);
  const count = differingInBlock(described, blocks.length, usedNs, shape);
  const share = hot?.share ?? 0;
  const planned = blocks.map((block, i) => {
    // A small block may hold less than one hot word: one after the other has its turn.
    const isHot = (word: number): boolean =>
      Math.floor((i * count + word + 1) * share) > Math.floor((i * count + word) * share);
    return { block, used: usedOf(block), periods: periodsOfWords(described, count, random, isHot) };
  });
  const accesses = planned.reduce((sum, { used, periods }) => sum + accessesOf(periods, touches, lengthOf(used)), 0);
  refuseTooMany(described, accesses, count * blocks.length, shape);
  return planned.map(({ block: { life_ns, place }, used, periods }): WorldStratum => {
    const tokens = periodsIn(shape.tokens, used);
    const words = wordsOf(described, periods, { ...shape, used, tokens }, life_ns[0], random);
    const repeats = Math.floor(bytes / 8 / count);
    return { stratum: nameOfStratum(described), region_type, words, life_ns, place: firstPlace + place, repeats };
  });
}

/**
 * @param refuse the error for a stratum with too many accesses
 * @throws MrmTraceError usage, when a world is made of it that has too many accesses
 */
export function describedWorld(described: DescribedWorld, refuse: Refuse = refusal): WorldKind {
  const { name, run, token, busy, idle, strata } = described;
  return {
    name,
    make(random): World {
      const cycle = (busy ?? 0) + (idle ?? 0);
      const phase = random() * cycle;
      const isBusy: IsBusy = (time) => {
        if (busy === undefined) return true;
        const moment = (time + phase + cycle) % cycle;
        return (moment < 0 ? moment + cycle : moment) < busy;
      };
      // Unevenness of what goes by tokens; even where nothing does.
      const unevenTokens = token === undefined ? 0 : unevenOf(described, { period: token, uneven: 0, random: [] });
      const tokens = token === undefined ? null : periodsOf(token, unevenTokens, [0, run], isBusy, random);
      let places = strata.length;
      return {
        run_ns: run,
        token_period_ns: token ?? null,
        is_named: described.tensors,
        steps: (tokens ?? [])
          .filter(([begin, end]) => begin >= 0 && end <= run)
          .map(([begin_ns, end_ns]): StepSample => ({ step: "decode", begin_ns, end_ns, n_tokens: 1 })),
        strata: strata.flatMap((stratum, i) => {
          const { period, from, until, blocks, random: left } = stratum;
          const isRandom = left.includes("blocks");
          const used = [from ?? 0, until ?? run] as const;
          const inTime = periodsIn(tokens, used);
          const shape: Shape = {
            ...{ used, strata: strata.length, most: MOST_ACCESSES / strata.length, isBusy },
            uneven: unevenOf(described, stratum),
            tokens: period === token ? inTime : null,
            refuse: (message, hint) => refuse(i, message, hint),
          };
          if (blocks === undefined) return [stratumOf(stratum, shape, i, random)];
          const coming = { from, until, run_ns: run, tokens: blocks.every === token ? inTime : null, isRandom };
          const there = blocksOf(blocks, coming, isBusy, random);
          const all = strataOfBlocks(stratum, there, shape, places, random);
          places += 1 + Math.max(-1, ...there.map(({ place }) => place));
          return all;
        }),
      };
    },
  };
}

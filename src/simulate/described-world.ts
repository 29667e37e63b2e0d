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
import { OP } from "../schema/operation.ts";
import { normalDraw } from "../statistics/normal.ts";
import type { Random } from "../statistics/prng.ts";
import { formatCount, formatCounted } from "../units.ts";
import { type Block, blocksOf } from "./described-blocks.ts";
import { type IsBusy, type Period, periodsOf } from "./described-periods.ts";
import type { WordTrace, World, WorldKind, WorldStratum } from "./world.ts";

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
const MOST_WORDS_OF_BLOCKS = 100_000;
const LEAST_WORDS_OF_BLOCK = 10;
/** No word is used more often: a trap takes as long. */
const LEAST_PERIOD_NS = 20_000;

/**
 * The accesses of one word in the time in which it is used: `touches` from each begin on, some of them writes.
 * @param before how many accesses there were before the first period: drawn where it is absent
 */
function traceOf(
  periods: readonly Period[],
  placeNs: number,
  spacingNs: number,
  { touches, writes }: DescribedStratum,
  [from, until]: Period,
  random: Random,
  before?: number,
): WordTrace {
  const time_ns = new Float64Array(periods.length * touches);
  const op = new Uint8Array(time_ns.length);
  // Where a word is written in some periods only, words are written in different ones.
  const isSeldom = writes * touches < 1 && writes > 0;
  let step = before ?? (isSeldom ? touches * Math.floor(random() / (writes * touches)) : 0);
  let count = 0;
  for (const [begin] of periods) {
    for (let k = 0; k < touches; k++, step++) {
      // A clock counts whole ns: a trap tells no more, so that times between fractions of them would be missed by a rounding.
      const time = Math.round(begin + placeNs + k * spacingNs);
      const isWrite = Math.ceil((step + 1) * writes) > Math.ceil(step * writes);
      if (time < from || time >= until) continue;
      time_ns[count] = time;
      op[count++] = isWrite ? OP.store : OP.load;
    }
  }
  return { time_ns: time_ns.slice(0, count), op: op.slice(0, count) };
}

/** How much more often the words of a stratum are used, in the mean, than its period says. */
function heatOf({ hot, sigma }: DescribedStratum): number {
  // The mean of a lognormal number is exp(sigma^2 / 2) times its median.
  return (hot === undefined ? 1 : 1 + hot.share * (hot.times - 1)) * Math.exp(sigma ** 2 / 2);
}

/** So many words stand in `bytes`: fewer where too much of them would hold no whole series of so many. */
function dividing(bytes: number, wanted: number): number {
  const all = Math.floor(bytes / 8);
  const count = Math.min(all, wanted);
  return all % count <= MOST_CUT * all ? count : Math.floor(all / Math.ceil(all / count));
}

/** How many words of a stratum differ. @param most accesses that there is memory for */
function differingWords(described: DescribedStratum, usedNs: number, most: number): number {
  const { bytes, period, touches, hot } = described;
  const wanted = hot === undefined ? WORDS : Math.min(MOST_WORDS, Math.max(WORDS, Math.ceil(HOT_WORDS / hot.share)));
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

interface Shape extends Room {
  /** When its words are used. */
  readonly used: Period;
  readonly uneven: number;
  /** The tokens that it goes by; null where it has periods of its own. */
  readonly tokens: readonly Period[] | null;
  readonly isBusy: IsBusy;
  readonly refuse: (message: string, hint: string) => MrmTraceError;
}

/** How often each of some words is used, hot or not. */
function periodsOfWords(
  { period, hot, sigma }: DescribedStratum,
  count: number,
  random: Random,
  isHot: (word: number) => boolean,
): number[] {
  return Array.from({ length: count }, (_, i) => {
    const times = isHot(i) ? (hot?.times ?? 1) : 1;
    const unlike = sigma > 0 ? Math.exp(sigma * normalDraw(random)) : 1;
    return Math.max(LEAST_PERIOD_NS, (period * unlike) / times);
  });
}

/** Words by their periods in the time in which they are used. @param born when their memory came; null: long before the run */
function wordsOf(
  described: DescribedStratum,
  wordPeriods: readonly number[],
  { used, uneven, tokens, isBusy }: Shape,
  born: number | null,
  random: Random,
): WordTrace[] {
  const { period, touches } = described;
  const [from] = used;
  /** The first access to a block is the first of a period. */
  const firstOf = (each: number): number | undefined =>
    born === null ? undefined : born + Math.floor((from - born) / each) * each;
  const drawn = (each: number): Period[] => periodsOf(each, uneven, used, isBusy, random, firstOf(each));
  const together = tokens ?? drawn(period);
  return wordPeriods.map((each) => {
    const spacing = ((described.spacing ?? (period * (1 - uneven)) / touches) * each) / period;
    const room = Math.max(0, each * (1 - uneven) - (touches - 1) * spacing);
    // What is used as often as the others is used with them. What begins with others has its own moment of the period.
    const isTogether = each === period;
    const mine = isTogether ? together : drawn(each);
    const place = isTogether || born !== null ? random() * room : 0;
    const before = born === null ? undefined : touches * Math.floor((from - born) / each);
    return traceOf(mine, place, spacing, described, used, random, before);
  });
}

/** Refuses more accesses than there is memory for: the mean was kept to; single words that are used far more often may go beyond. */
function refuseTooMany(described: DescribedStratum, accesses: number, words: number, { most, strata, refuse }: Shape) {
  if (accesses <= MOST_BEYOND * most) return;
  const blocks = described.blocks === undefined ? "" : "blocks.every longer, ";
  throw refuse(
    tooMany(nameOfStratum(described), accesses, words, strata),
    `make its period longer, its touches fewer, hot.times or sigma smaller, ${blocks}the run shorter, or describe fewer strata`,
  );
}

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
    const tokens = shape.tokens?.filter(([begin, end]) => end > used[0] && begin < used[1]) ?? null;
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
      const unevenTokens = token === undefined ? 0 : unevenOf(described, { period: token, uneven: 0 });
      const tokens = token === undefined ? null : periodsOf(token, unevenTokens, [0, run], isBusy, random);
      let places = strata.length;
      return {
        run_ns: run,
        token_period_ns: token ?? null,
        steps: (tokens ?? [])
          .filter(([begin, end]) => begin >= 0 && end <= run)
          .map(([begin_ns, end_ns]): StepSample => ({ step: "decode", begin_ns, end_ns, n_tokens: 1 })),
        strata: strata.flatMap((stratum, i) => {
          const { period, from, until, blocks } = stratum;
          const used = [from ?? 0, until ?? run] as const;
          const inTime = tokens?.filter(([begin, end]) => end > used[0] && begin < used[1]) ?? null;
          const shape: Shape = {
            ...{ used, strata: strata.length, most: MOST_ACCESSES / strata.length, isBusy },
            uneven: unevenOf(described, stratum),
            tokens: period === token ? inTime : null,
            refuse: (message, hint) => refuse(i, message, hint),
          };
          if (blocks === undefined) return [stratumOf(stratum, shape, i, random)];
          const coming = { from, until, run_ns: run, tokens: blocks.every === token ? inTime : null };
          const there = blocksOf(blocks, coming, isBusy, random);
          const all = strataOfBlocks(stratum, there, shape, places, random);
          places += 1 + Math.max(-1, ...there.map(({ place }) => place));
          return all;
        }),
      };
    },
  };
}

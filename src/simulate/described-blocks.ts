/** Memory of a described work that comes and goes: when each block is there, and at which place. */
import type { DescribedBlocks } from "../config/world-schema.ts";
import type { Random } from "../statistics/prng.ts";
import { exponential, type IsBusy, momentsOf, type Period, periodsOf } from "./described-periods.ts";

export interface Block {
  readonly life_ns: readonly [born: number, freed: number];
  /** From 0 on, of those of its stratum. */
  readonly place: number;
}

/** When blocks come. */
interface Coming {
  /** None comes before it, and none is there after the end; the whole run where absent. */
  readonly from?: number | undefined;
  readonly until?: number | undefined;
  readonly run_ns: number;
  /** The tokens that they come with; null where they come at times of their own. */
  readonly tokens: readonly Period[] | null;
  /** They come at any moment, and live for any time. */
  readonly isRandom: boolean;
}

/** Of lives of any length next to none is longer, in means of them. */
const LONGEST_RANDOM_LIFE = 10;

/** When blocks come that are there in the run, those among them that come before its begin. */
function births(
  { every, life, uneven }: DescribedBlocks,
  { from, until, run_ns, tokens, isRandom }: Coming,
  isBusy: IsBusy,
  random: Random,
): number[] {
  const first = from ?? -life * (isRandom ? LONGEST_RANDOM_LIFE : 1 + uneven);
  const end = until ?? run_ns;
  if (isRandom) return momentsOf(every, [first, end], isBusy, random).map(([begin]) => begin);
  if (tokens === null) {
    const periods = periodsOf(every, uneven, [first, end], isBusy, random);
    return periods.map(([begin]) => begin).filter((begin) => begin >= first);
  }
  const begins = tokens.map(([begin]) => begin);
  const early: number[] = [];
  // Tokens are drawn for the run; those before it went on as evenly as they can.
  for (let begin = (begins[0] ?? 0) - every; begin >= first; begin -= every) if (isBusy(begin)) early.unshift(begin);
  return [...early, ...begins].filter((begin) => begin >= first && begin < end);
}

/** The blocks that are there in a run, in the order in which they come. */
export function blocksOf(blocks: DescribedBlocks, coming: Coming, isBusy: IsBusy, random: Random): Block[] {
  const { life, uneven, reuse } = blocks;
  const there: Block[] = [];
  /** Until when each place is taken. */
  const taken: number[] = [];
  for (const birth of births(blocks, coming, isBusy, random)) {
    const born = Math.round(birth);
    const part = coming.isRandom ? exponential(random) : 1 + uneven * (2 * random() - 1);
    const end = Math.round(birth + life * part);
    const freed = Math.min(end, Math.round(coming.until ?? Number.POSITIVE_INFINITY));
    if (freed <= Math.max(0, born)) continue;
    const free = reuse ? taken.findIndex((until) => until <= born) : -1;
    const place = free < 0 ? taken.length : free;
    taken[place] = freed;
    there.push({ life_ns: [born, freed], place });
  }
  return there;
}

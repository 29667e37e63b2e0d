/** The words of a described stratum: how often each of them is used, and every access to it. */
import type { DescribedStratum } from "../config/world-schema.ts";
import { OP } from "../schema/operation.ts";
import { normalDraw } from "../statistics/normal.ts";
import type { Random } from "../statistics/prng.ts";
import { type Filling, whileFilled } from "./described-filling.ts";
import { type IsBusy, momentsOf, type Period, periodsOf } from "./described-periods.ts";
import type { WordTrace } from "./world.ts";

/** No word is used more often: a trap takes as long. */
const LEAST_PERIOD_NS = 20_000;

/** When the words of a stratum are used. */
export interface Use {
  /** The time in which they are. */
  readonly used: Period;
  readonly uneven: number;
  /** The tokens that they go by; null where they have periods of their own. */
  readonly tokens: readonly Period[] | null;
  readonly isBusy: IsBusy;
}

function inOrder({ time_ns, op }: WordTrace): WordTrace {
  const order = Array.from(time_ns, (_, i) => i).sort((a, b) => (time_ns[a] ?? 0) - (time_ns[b] ?? 0));
  return { time_ns: time_ns.toSorted(), op: Uint8Array.from(order, (i) => op[i] ?? OP.load) };
}

/**
 * The accesses of one word in the time in which it is used: `touches` from each begin on, some of them writes.
 * @param before how many accesses there were before the first period: drawn where it is absent
 */
function traceOf(
  periods: readonly Period[],
  placeNs: number,
  spacingNs: number,
  { touches, writes, random: left }: DescribedStratum,
  [from, until]: Period,
  random: Random,
  before?: number,
): WordTrace {
  const isAnyWrite = left.includes("writes");
  const time_ns = new Float64Array(periods.length * touches);
  const op = new Uint8Array(time_ns.length);
  // Where a word is written in some periods only, words are written in different ones.
  const isSeldom = writes * touches < 1 && writes > 0 && !isAnyWrite;
  let step = before ?? (isSeldom ? touches * Math.floor(random() / (writes * touches)) : 0);
  let count = 0;
  for (const [begin] of periods) {
    for (let k = 0; k < touches; k++, step++) {
      // A clock counts whole ns: a trap tells no more, so that times between fractions of them would be missed by a rounding.
      const time = Math.round(begin + placeNs + k * spacingNs);
      const isWrite = isAnyWrite ? random() < writes : Math.ceil((step + 1) * writes) > Math.ceil(step * writes);
      if (time < from || time >= until) continue;
      time_ns[count] = time;
      op[count++] = isWrite ? OP.store : OP.load;
    }
  }
  const trace = { time_ns: time_ns.slice(0, count), op: op.slice(0, count) };
  // Only uses at random moments begin before the one before them is over.
  return touches > 1 && left.includes("moments") ? inOrder(trace) : trace;
}

/** The mean of numbers from 1 on of a Pareto tail, none of them above `most`. */
function paretoMean(exponent: number, most: number): number {
  if (exponent === 1) return 1 + Math.log(most);
  return (exponent - most ** (1 - exponent)) / (exponent - 1);
}

/** How much more often the words of a stratum are used, in the mean, than its period says. */
export function heatOf({ period, hot, sigma, pareto }: DescribedStratum): number {
  const tail = pareto === undefined ? 1 : paretoMean(pareto, Math.max(1, period / LEAST_PERIOD_NS));
  // The mean of a lognormal number is exp(sigma^2 / 2) times its median.
  return (hot === undefined ? 1 : 1 + hot.share * (hot.times - 1)) * Math.exp(sigma ** 2 / 2) * tail;
}

/** How often each of some words is used, hot or not. */
export function periodsOfWords(
  { period, hot, sigma, pareto }: DescribedStratum,
  count: number,
  random: Random,
  isHot: (word: number) => boolean,
): number[] {
  return Array.from({ length: count }, (_, i) => {
    const times = isHot(i) ? (hot?.times ?? 1) : 1;
    const unlike = sigma > 0 ? Math.exp(sigma * normalDraw(random)) : 1;
    const tail = pareto === undefined ? 1 : (1 - random()) ** (-1 / pareto);
    return Math.max(LEAST_PERIOD_NS, (period * unlike) / times / tail);
  });
}

/** How a stratum fills; null where it does not. @param born as `wordsOf` has it */
function fillingOf({ fills }: DescribedStratum, from: number, born: number | null, random: Random): Filling | null {
  if (fills === undefined) return null;
  if (born !== null) return { fills_ns: fills, empty_ns: born, isOnce: true };
  return { fills_ns: fills, empty_ns: from - random() * fills, isOnce: false };
}

/** Words by their periods in the time in which they are used. @param born when their memory came; null: long before the run */
export function wordsOf(
  described: DescribedStratum,
  wordPeriods: readonly number[],
  { used, uneven, tokens, isBusy }: Use,
  born: number | null,
  random: Random,
): WordTrace[] {
  const { period, touches } = described;
  const [from] = used;
  /** The first access to a block is the first of a period. */
  const firstOf = (each: number): number | undefined =>
    born === null ? undefined : born + Math.floor((from - born) / each) * each;
  const drawn = (each: number): Period[] => periodsOf(each, uneven, used, isBusy, random, firstOf(each));
  const isAnyMoment = described.random.includes("moments");
  const together = isAnyMoment ? [] : (tokens ?? drawn(period));
  const filling = fillingOf(described, from, born, random);
  return wordPeriods.map((each) => {
    const spacing = ((described.spacing ?? (period * (1 - uneven)) / touches) * each) / period;
    const room = Math.max(0, each * (1 - uneven) - (touches - 1) * spacing);
    // What is used as often as the others is used with them. What begins with others has its own moment of the period.
    const isTogether = each === period && !isAnyMoment;
    const mine = isAnyMoment ? momentsOf(each, used, isBusy, random) : isTogether ? together : drawn(each);
    const place = !isAnyMoment && (isTogether || born !== null) ? random() * room : 0;
    const before = born === null ? undefined : touches * Math.floor((from - born) / each);
    const trace = traceOf(mine, place, spacing, described, used, random, before);
    return filling === null ? trace : whileFilled(trace, filling, random(), from);
  });
}

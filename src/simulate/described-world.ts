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
/** No word is used more often: a trap takes as long. */
const LEAST_PERIOD_NS = 20_000;

/** True while the work goes on. */
type IsBusy = (timeNs: number) => boolean;

type Period = readonly [begin_ns: number, end_ns: number];

/** Periods over a time, the begin of the first of them drawn too; none that begins while the work rests. */
function periodsOf(periodNs: number, uneven: number, [from, until]: Period, isBusy: IsBusy, random: Random): Period[] {
  const periods: Period[] = [];
  for (let begin = from - random() * periodNs; begin < until; ) {
    const end = begin + periodNs * (1 + uneven * (2 * random() - 1));
    if (isBusy(begin)) periods.push([begin, end]);
    begin = end;
  }
  return periods;
}

/** The accesses of one word in the time in which it is used: `touches` from each begin on, some of them writes. */
function traceOf(
  periods: readonly Period[],
  placeNs: number,
  spacingNs: number,
  { touches, writes }: DescribedStratum,
  [from, until]: Period,
  random: Random,
): WordTrace {
  const time_ns = new Float64Array(periods.length * touches);
  const op = new Uint8Array(time_ns.length);
  // Where a word is written in some periods only, words are written in different ones.
  let step = writes * touches < 1 && writes > 0 ? touches * Math.floor(random() / (writes * touches)) : 0;
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

/** How many words of a stratum differ. @param most accesses that there is memory for */
function differingWords(
  { bytes, period, touches, hot, sigma }: DescribedStratum,
  usedNs: number,
  most: number,
): number {
  const wanted = hot === undefined ? WORDS : Math.min(MOST_WORDS, Math.max(WORDS, Math.ceil(HOT_WORDS / hot.share)));
  const least = hot === undefined ? LEAST_WORDS : Math.max(LEAST_WORDS, Math.ceil(LEAST_HOT_WORDS / hot.share));
  // The mean of a lognormal number is exp(sigma^2 / 2) times its median.
  const heat = (hot === undefined ? 1 : 1 + hot.share * (hot.times - 1)) * Math.exp(sigma ** 2 / 2);
  const fitting = Math.floor((most * period) / (touches * usedNs * heat));
  const all = Math.floor(bytes / 8);
  const count = Math.min(all, wanted, Math.max(least, fitting));
  // Fewer words that stand in the memory once more, where too much of it would hold no whole series of them.
  return all % count <= MOST_CUT * all ? count : Math.floor(all / Math.ceil(all / count));
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

interface Shape {
  /** When its words are used. */
  readonly used: Period;
  /** How many strata share the memory for accesses. */
  readonly strata: number;
  readonly uneven: number;
  /** The tokens that it goes by; null where it has periods of its own. */
  readonly tokens: readonly Period[] | null;
}

function stratumOf(
  described: DescribedStratum,
  { used, strata, uneven, tokens }: Shape,
  isBusy: IsBusy,
  random: Random,
  refuse: (message: string, hint: string) => MrmTraceError,
): WorldStratum {
  const { class: region_type, bytes, period, touches, hot, sigma } = described;
  const most = MOST_ACCESSES / strata;
  const usedNs = used[1] - used[0];
  const count = differingWords(described, usedNs, most);
  const hotCount = hot === undefined ? 0 : Math.round(hot.share * count);
  const periods = Array.from({ length: count }, (_, i) => {
    const times = i < hotCount ? (hot?.times ?? 1) : 1;
    const unlike = sigma > 0 ? Math.exp(sigma * normalDraw(random)) : 1;
    return Math.max(LEAST_PERIOD_NS, (period * unlike) / times);
  });
  const accesses = periods.reduce((sum, each) => sum + (touches * usedNs) / each, 0);
  // The mean was kept to; single words that are used far more often may go beyond.
  if (accesses > MOST_BEYOND * most) {
    throw refuse(
      tooMany(nameOfStratum(described), accesses, count, strata),
      "make its period longer, its touches fewer, hot.times or sigma smaller, the run shorter, or describe fewer strata",
    );
  }
  const together = tokens ?? periodsOf(period, uneven, used, isBusy, random);
  const words = periods.map((each) => {
    const spacing = ((described.spacing ?? (period * (1 - uneven)) / touches) * each) / period;
    const room = Math.max(0, each * (1 - uneven) - (touches - 1) * spacing);
    // What is used as often as the others is used with them, each word at its own moment of the period.
    const isTogether = each === period;
    const mine = isTogether ? together : periodsOf(each, uneven, used, isBusy, random);
    return traceOf(mine, isTogether ? random() * room : 0, spacing, described, used, random);
  });
  return { stratum: nameOfStratum(described), region_type, words, repeats: Math.floor(bytes / 8 / count) };
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
      const isBusy: IsBusy = (time) => busy === undefined || (time + phase + cycle) % cycle < busy;
      // Unevenness of what goes by tokens; even where nothing does.
      const unevenTokens = token === undefined ? 0 : unevenOf(described, { period: token, uneven: 0 });
      const tokens = token === undefined ? null : periodsOf(token, unevenTokens, [0, run], isBusy, random);
      return {
        run_ns: run,
        token_period_ns: token ?? null,
        steps: (tokens ?? [])
          .filter(([begin, end]) => begin >= 0 && end <= run)
          .map(([begin_ns, end_ns]): StepSample => ({ step: "decode", begin_ns, end_ns, n_tokens: 1 })),
        strata: strata.map((stratum, i) => {
          const uneven = unevenOf(described, stratum);
          const used = [stratum.from ?? 0, stratum.until ?? run] as const;
          const inTime = tokens?.filter(([begin, end]) => end > used[0] && begin < used[1]) ?? null;
          const shape = { used, strata: strata.length, uneven, tokens: stratum.period === token ? inTime : null };
          return stratumOf(stratum, shape, isBusy, random, (message, hint) => refuse(i, message, hint));
        }),
      };
    },
  };
}

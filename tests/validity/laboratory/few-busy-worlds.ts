/** Kinds of work of which a few words have most of the accesses, watched so shortly, or beside so much else, that many runs draw none of these. */
import { OP } from "../../../src/schema/operation.ts";
import type { WordTrace, World, WorldKind, WorldStratum } from "../../../src/simulate/world.ts";
import { normalDraw } from "../../../src/statistics/normal.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { exponential, type Hit, MS, SECOND, timesFrom, trace } from "./shapes.ts";

/** Busy words have this much of the accesses. */
const CARRIED = 0.8;

interface FewBusy {
  readonly run_s: number;
  readonly strata: number;
  readonly words: number;
  /** Shares of the words that are busy, and that are never used. */
  readonly busy: number;
  readonly unused: number;
  /** Mean time between the accesses of a word that is not busy, and how unlike these words are. */
  readonly period_ms: number;
  readonly sigma: number;
  /** Every so many accesses is a write, of busy words and of others. */
  readonly writes: readonly [busy: number, others: number];
  /** Strata of another class, which take as many turns. */
  readonly beside: number;
}

/** Accesses about a period apart, of which every `each` writes. */
function used(random: Random, period: number, each: number, run: number): WordTrace {
  const hits: (readonly [time: number, op: number])[] = [];
  for (let t = random() * period; t < run; t += period * (0.6 + 0.8 * random()))
    hits.push([t, hits.length % each === 0 ? OP.store : OP.load]);
  return trace(hits, run);
}

function worldOf(random: Random, given: FewBusy): World {
  const run = given.run_s * SECOND;
  const others = 1 - given.busy - given.unused;
  // The mean rate of lognormal rates is that of the middle one times this.
  const mean = Math.exp(given.sigma ** 2 / 2);
  const busier = (CARRIED / given.busy / ((1 - CARRIED) / others)) * mean;
  const all = Array.from({ length: given.words }, (_, word): WordTrace => {
    const place = (word + 0.5) / given.words;
    if (place < given.busy) return used(random, (given.period_ms * MS) / busier, given.writes[0], run);
    if (place < given.busy + given.unused) return trace([], run);
    const period = given.period_ms * MS * Math.exp(given.sigma * normalDraw(random));
    return used(random, Math.max(0.2 * MS, period), given.writes[1], run);
  });
  const strata = Array.from({ length: given.strata }, (_, s): WorldStratum => {
    const words = all.filter((_, word) => word % given.strata === s);
    return { stratum: `activation/${s}`, region_type: "activation", words };
  });
  const beside = Array.from({ length: given.beside }, (_, s): WorldStratum => {
    const words = Array.from({ length: 10 }, () => used(random, 15 * MS, Number.POSITIVE_INFINITY, run));
    return { stratum: `weight/${s}`, region_type: "weight", words };
  });
  return { run_ns: run, token_period_ns: null, steps: [], strata: [...strata, ...beside] };
}

const fewBusy = (name: string, given: FewBusy): WorldKind => ({ name, make: (random) => worldOf(random, given) });

export const FEW_BUSY_WORLDS: readonly WorldKind[] = [
  fewBusy("4 % of the words with 80 % of the accesses, twelve strata beside seventy others", {
    ...{ run_s: 20, strata: 12, words: 600, busy: 0.04, unused: 0.3, period_ms: 60, sigma: 0.7 },
    ...{ writes: [3, 2], beside: 70 },
  }),
  fewBusy("3 % of the words with 80 % of the accesses, a run of 3 s", {
    ...{ run_s: 3, strata: 1, words: 800, busy: 0.03, unused: 0.5, period_ms: 25, sigma: 0.2 },
    ...{ writes: [4, 4], beside: 0 },
  }),
  fewBusy("5 % of the words with 80 % of the accesses, read more often than the others, a run of 9 s", {
    ...{ run_s: 9, strata: 4, words: 800, busy: 0.05, unused: 0.2, period_ms: 40, sigma: 1 },
    ...{ writes: [12, 2], beside: 0 },
  }),
];

const BY_RANK = 600;
/** How often a word is written falls with its rank to the power of this. */
const FALL = 1.1;

/** Each write goes to a word by its rank, each read to any: what is written most is read as often as all else. */
export const WRITTEN_BY_RANK: WorldKind = {
  name: "600 words written at random by their rank to the power of -1.1, read evenly, a run of 12 s",
  make: (random) => {
    const run = 12 * SECOND;
    const ranks = Array.from({ length: BY_RANK }, (_, rank) => (rank + 1) ** -FALL);
    const all = ranks.reduce((sum, x) => sum + x, 0);
    /** Uses at random moments, so far apart in the mean. */
    const used = (mean_ns: number, op: number): Hit[] =>
      timesFrom(mean_ns * exponential(random), run, () => mean_ns * exponential(random)).map((time) => [time, op]);
    const words = ranks.map((rank) =>
      trace([...used((0.5 * MS * all) / rank, OP.store), ...used(0.1 * MS * BY_RANK, OP.load)], run),
    );
    const strata: WorldStratum[] = [{ stratum: "runtime", region_type: "runtime", words, repeats: 100 }];
    return { run_ns: run, token_period_ns: null, steps: [], strata };
  },
};

/** Memory of which a verdict can be told: mapped files that are only read, for short and for long, and memory that is rewritten. */
import { OP } from "../../../src/schema/operation.ts";
import type { World, WorldKind, WorldStratum } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { between, part, world } from "./served/parts.ts";
import { type Hit, MS, RUN_NS, SECOND, timesFrom, trace, words } from "./shapes.ts";

const PLACES = 6;
const WORDS = 40;
const READ_EVERY = 25 * MS;

type Life = readonly [born: number, freed: number];

/** Words that are used in each 25 ms of a life. */
function used(random: Random, [born, freed]: Life, run: number, use: (time: number) => Hit[]): WorldStratum["words"] {
  const until = Math.min(freed, run);
  return words(() => {
    const times = timesFrom(born + READ_EVERY * random(), until, () => READ_EVERY * between(random, 0.9, 1.1));
    return trace(
      times.flatMap(use).filter(([time]) => time < until),
      run,
    );
  }, WORDS);
}

const read = (time: number): Hit[] => [[time, OP.load]];

/** Files that are mapped one after the other, and let go before the end of the run unless they are there for `rest`. */
function mapped(random: Random, [least, most]: readonly [number, number], run: number, rest: boolean): World {
  const strata: WorldStratum[] = [];
  const last = 0.9 * run;
  for (let place = 0; place < PLACES; place++) {
    for (let born = 0.2 * SECOND * random(); born < last; ) {
      const freed = born + between(random, least, most);
      if (freed > last && !rest) break;
      const life: Life = [born, freed];
      strata.push(part("weight", "file", used(random, life, run, read), { life_ns: life, place, is_sealed: true }));
      born = freed + between(random, 0.05, 0.1) * SECOND;
    }
  }
  return world(run, strata, { is_named: true });
}

const files = (name: string, lives: readonly [number, number], run = RUN_NS, rest = false): WorldKind => ({
  name,
  make: (random) => mapped(random, lives, run, rest),
});

const scratch: WorldKind = {
  name: "memory that is written and read in each 25 ms",
  make: (random) => {
    const use = (time: number): Hit[] => [
      [time, OP.store],
      [time + 8 * MS, OP.load],
    ];
    const list = used(random, [0, RUN_NS], RUN_NS, use);
    return world(RUN_NS, [part("activation", "scratch", list)], { is_named: true });
  },
};

const results: WorldKind = {
  name: "words that are written once in the run, and read for 2 to 4 s",
  make: (random) => {
    const list = words(() => {
      const born = RUN_NS * random();
      const freed = born + between(random, 2, 4) * SECOND;
      return trace([[born, OP.store], ...timesFrom(born + READ_EVERY, freed, () => READ_EVERY).flatMap(read)]);
    });
    return world(RUN_NS, [part("activation", "results", list)], { is_named: true });
  },
};

/** Worlds with the label that is told of them in most runs; null where intervals may leave it open. */
export const VERDICT_WORLDS: readonly { readonly kind: WorldKind; readonly label: string | null }[] = [
  { kind: files("files that are mapped for 0.2 to 0.8 s and read", [0.2 * SECOND, 0.8 * SECOND]), label: "low_mrm" },
  { kind: files("files that are mapped for 2 to 5 s and read", [2 * SECOND, 5 * SECOND]), label: "medium_mrm" },
  {
    kind: files("files that are mapped for 12 to 16 s of 60 s and read", [12 * SECOND, 16 * SECOND], 60 * SECOND),
    label: "high_mrm",
  },
  {
    kind: files("files that are mapped and read to the end", [RUN_NS, 2 * RUN_NS], RUN_NS, true),
    label: "kept_throughout",
  },
  { kind: scratch, label: "low_mrm" },
  { kind: results, label: null },
];

/** Weights in files, and in a buffer into which they were repacked, of which some words are written again. */
const repacked = (name: string, sealed: number, again: number, every: number): WorldKind => ({
  name,
  make: (random) => {
    const life: Life = [-SECOND, 2 * RUN_NS];
    const list = (isWritten: boolean): WorldStratum["words"] =>
      words(() => {
        const reads = timesFrom(READ_EVERY * random(), RUN_NS, () => READ_EVERY).flatMap(read);
        if (!isWritten || random() >= again) return trace(reads);
        const writes = timesFrom(every * random(), RUN_NS, () => every).map((time): Hit => [time, OP.store]);
        return trace([...reads, ...writes]);
      }, 100);
    const strata = [part("weight", "file", list(false), { is_sealed: true, repeats: sealed })];
    const buffers = [part("weight", "buffer", list(true), { life_ns: life })];
    return world(RUN_NS, [...strata, ...(again > 0 ? buffers : [])], { is_named: true });
  },
});

export const LOADED_WEIGHTS: readonly WorldKind[] = [
  repacked("weights in files", 4, 0, RUN_NS),
  repacked(
    "weights in files and a quarter as much in a buffer, of which one word of ten is written once more",
    4,
    0.1,
    RUN_NS,
  ),
  repacked(
    "weights in files and as much in a buffer, of which three words of ten are written each 60 ms",
    1,
    0.3,
    60 * MS,
  ),
];

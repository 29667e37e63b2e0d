/** Kinds of work during which the ring keeps no trap for some time, when there is most to keep; and memory at addresses that another class had. */
import { OP } from "../../../src/schema/operation.ts";
import type { RegionType } from "../../../src/schema/words.ts";
import type { WordTrace, World, WorldKind, WorldStratum } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { type Hit, loads, MS, oncePerToken, one, RUN_NS, SECOND, tokens, trace, words } from "./shapes.ts";

const BIN_NS = 10 * MS;

/** Bursts of 10 to 300 ms, where most accesses are, that hold a share of all of them. */
function busiest({ strata, run_ns }: World, share: number, random: Random): readonly (readonly [number, number])[] {
  const bins = new Float64Array(Math.ceil(run_ns / BIN_NS));
  for (const { words, repeats = 1 } of strata)
    for (const { time_ns } of words)
      for (const time of time_ns) bins[Math.floor(time / BIN_NS)] = (bins[Math.floor(time / BIN_NS)] ?? 0) + repeats;
  const all = bins.reduce((sum, x) => sum + x, 0);
  const isLost = new Uint8Array(bins.length);
  let lost = 0;
  // Those that are equally busy in any order.
  const order = [...bins.keys()].map((bin) => [(bins[bin] ?? 0) * (0.8 + 0.2 * random()), bin] as const);
  for (const [, bin] of order.sort(([a], [b]) => b - a)) {
    if (isLost[bin]) continue;
    const length = 1 + Math.floor(30 * random());
    for (let i = bin; i < Math.min(bin + length, bins.length) && lost < share * all; i++) {
      if (!isLost[i]) lost += bins[i] ?? 0;
      isLost[i] = 1;
    }
  }
  return [...isLost.keys()].filter((i) => isLost[i]).map((i) => [i * BIN_NS, (i + 1) * BIN_NS]);
}

/** Of some work a share of the traps is lost. */
export const lossy = (share: number, kind: WorldKind): WorldKind => ({
  name: `${kind.name}; ${100 * share} % of the traps lost in bursts when it is busiest`,
  make: (random) => {
    const world = kind.make(random);
    return { ...world, lost_ns: busiest(world, share, random) };
  },
});

const tokensOf = (length: number): WorldKind => ({
  name: `tokens of ${length} ms`,
  make: (random) =>
    one(
      "weight",
      oncePerToken(
        random,
        tokens(random, () => length * MS),
        0.9 * length * MS,
      ),
      {
        token_period_ns: length * MS,
      },
    ),
});

const phases: WorldKind = {
  name: "read every 4 ms for 300 ms, every 40 ms for 600",
  make: (random) => {
    const phase = 900 * MS * random();
    return one(
      "activation",
      words(() => {
        const hits: Hit[] = [];
        for (let t = -4 * MS * random(), i = 0; t < RUN_NS; i++) {
          hits.push([t, i % 5 === 0 ? OP.store : OP.load]);
          t += ((t + phase) % (900 * MS) < 300 * MS ? 4 : 40) * MS * (0.9 + 0.2 * random());
        }
        return trace(hits);
      }),
    );
  },
};

/** One of several uses of the memory at a place. */
interface Use {
  readonly region_type: RegionType;
  /** Of one word while it lives. */
  readonly use: (random: Random, born: number, freed: number) => WordTrace;
}

const readEach =
  (period: number): Use["use"] =>
  (random, born, freed) => {
    const times: number[] = [];
    for (let t = Math.max(0, born) + period * random(); t < freed; t += period) times.push(t);
    return loads(times);
  };

/** Written when it comes, as a cache is. */
const filled =
  (use: Use["use"]): Use["use"] =>
  (random, born, freed) => {
    const { time_ns } = use(random, born + 2 * MS, freed);
    return trace([[born + MS * random(), OP.store], ...Array.from(time_ns, (time): Hit => [time, OP.load])]);
  };

const rewrittenEach =
  (period: number): Use["use"] =>
  (random, born, freed) => {
    const hits: Hit[] = [];
    for (let t = Math.max(0, born) + period * random(); t < freed; t += period) {
      hits.push([t, OP.store]);
      if (t + period / 3 < freed) hits.push([t + period / 3, OP.load]);
    }
    return trace(hits);
  };

/** Uses by turns at the same addresses, at some places, each after a short while in which nothing lies there. */
function byTurnsAt(
  places: number,
  uses: readonly Use[],
  life: (random: Random) => number,
  random: Random,
): WorldStratum[] {
  const strata: WorldStratum[] = [];
  for (let line = 0; line < places; line++) {
    const place = strata.length;
    let turn = Math.floor(uses.length * random());
    for (let born = -life(random) * random(); born < RUN_NS; turn++) {
      const freed = born + life(random);
      const { region_type, use } = uses[turn % uses.length] ?? { region_type: "unknown", use: readEach(SECOND) };
      const list = words(() => use(random, born, Math.min(freed, RUN_NS)), 40);
      strata.push({ stratum: region_type, region_type, words: list, life_ns: [born, freed], place });
      born = freed + 5 * MS * random();
    }
  }
  return strata;
}

const shortTurns: WorldKind = {
  name: "caches read every 30 ms and runtime memory rewritten every 3, by turns at the same addresses, told 30 ms late",
  make: (random) => ({
    ...one("kv_cache", [], { map_lag_ns: 30 * MS }),
    strata: byTurnsAt(
      12,
      [
        { region_type: "kv_cache", use: filled(readEach(30 * MS)) },
        { region_type: "runtime", use: rewrittenEach(3 * MS) },
      ],
      (draw) => (0.3 + 1.7 * draw()) * SECOND,
      random,
    ),
  }),
};

const weightsGo: WorldKind = {
  name: "weights read every 8 ms, each part freed at some time for activations at its addresses",
  make: (random) => ({
    ...one("weight", []),
    strata: Array.from({ length: 10 }, (_, k): WorldStratum[] => {
      const freed = RUN_NS * (0.2 + 0.6 * random());
      const born = freed + 20 * MS * random();
      const part = (region_type: RegionType, [from, end]: [number, number], use: Use["use"]): WorldStratum => ({
        stratum: region_type,
        region_type,
        words: words(() => use(random, from, Math.min(end, RUN_NS)), 40),
        life_ns: [from, end],
        place: 2 * k,
      });
      return [
        part("weight", [-SECOND, freed], readEach(8 * MS)),
        part("activation", [born, Number.POSITIVE_INFINITY], rewrittenEach(50 * MS)),
      ];
    }).flat(),
  }),
};

export const LOSSY_WORLDS: readonly WorldKind[] = [
  ...[0.003, 0.05, 0.3].map((share) => lossy(share, tokensOf(6))),
  lossy(0.003, phases),
  shortTurns,
  weightsGo,
];

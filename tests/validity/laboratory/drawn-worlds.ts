/** Work that nobody chose: each run has a description of its own, drawn over the whole range that a described world may have. */
import { type DescribedWorld, worldSchema } from "../../../src/config/world-schema.ts";
import { MrmTraceError } from "../../../src/errors.ts";
import { describedWorld } from "../../../src/simulate/described-world.ts";
import type { WordTrace, World, WorldKind, WorldStratum } from "../../../src/simulate/world.ts";
import { firstIndex } from "../../../src/statistics/first-index.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { lossy } from "./lossy-worlds.ts";
import { MS, SECOND } from "./shapes.ts";

const CLASSES = ["weight", "kv_cache", "activation"] as const;

const between = (random: Random, least: number, most: number): number => least * (most / least) ** random();
const often = (random: Random, share: number): boolean => random() < share;

/** A stratum whose words are used every 1 ms to 3 s, alike or not, once or in bursts. @param tokenNs null: no token is known */
function drawnStratum(random: Random, place: number, uneven: number, tokenNs: number | null) {
  const period = tokenNs !== null && often(random, 0.7) ? tokenNs : between(random, MS, 3 * SECOND);
  const touches = often(random, 0.5) ? 1 : Math.round(between(random, 2, 60));
  const spacing = often(random, 0.5) ? { spacing: (between(random, 1e-3, 0.9) * period * (1 - uneven)) / touches } : {};
  const writes = often(random, 0.4) ? 0 : often(random, 0.5) ? random() : between(random, 1e-3, 0.5);
  const hot = often(random, 0.3) ? { hot: { share: between(random, 0.005, 0.5), times: between(random, 1, 300) } } : {};
  return {
    name: String(place),
    class: CLASSES[Math.floor(random() * CLASSES.length)],
    bytes: Math.round(between(random, 2 ** 16, 2 ** 30)),
    period,
    uneven,
    touches,
    writes,
    sigma: often(random, 0.4) ? 2.5 * random() : 0,
    ...spacing,
    ...hot,
  };
}

/** Of a run: more take longer to simulate than they teach. */
const MOST_ACCESSES = 3e6;
const WORDS = 400;

/** A description of any work; runs of 3 to 40 s, with and without tokens and rest. */
export function drawnDescription(random: Random): DescribedWorld {
  const tokenNs = often(random, 0.5) ? between(random, 2 * MS, 400 * MS) : null;
  const rest = often(random, 0.3)
    ? { busy: `${between(random, 20 * MS, 4 * SECOND)}ns`, idle: `${between(random, 20 * MS, 4 * SECOND)}ns` }
    : {};
  const uneven = 0.9 * random();
  const strata = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, i) =>
    drawnStratum(random, i, uneven, tokenNs),
  );
  const perSecond = strata.reduce((sum, { period, touches }) => sum + (WORDS * touches * SECOND) / period, 0);
  const longest = Math.min(40, Math.max(4, MOST_ACCESSES / perSecond));
  const inNs = strata.map((each) => ({
    ...each,
    period: `${each.period}ns`,
    ...("spacing" in each ? { spacing: `${each.spacing}ns` } : {}),
  }));
  const token = tokenNs === null ? {} : { token: `${tokenNs}ns` };
  return worldSchema.parse({ name: "drawn", run: `${between(random, 3, longest)}s`, ...token, ...rest, strata: inNs });
}

/** Redraws what has more accesses than there is memory for. */
function drawnWorld(random: Random): World {
  for (;;) {
    try {
      return describedWorld(drawnDescription(random)).make(random);
    } catch (error) {
      if (!(error instanceof MrmTraceError)) throw error;
    }
  }
}

/** A stratum whose memory comes and goes: each time at other addresses, with what its words do then. */
function inPieces(random: Random, run: number, stratum: WorldStratum): WorldStratum[] {
  const [alive, away] = [between(random, 0.2 * SECOND, 20 * SECOND), between(random, 0.05 * SECOND, 5 * SECOND)];
  const pieces: WorldStratum[] = [];
  for (let born = -alive * random(); born < run; ) {
    const freed = born + alive * (0.3 + 1.4 * random());
    const words = stratum.words.map((word) => during(word, [born, freed]));
    pieces.push({ ...stratum, words, life_ns: [born, freed] });
    born = freed + away * 2 * random();
  }
  return pieces;
}

function during({ time_ns, op }: WordTrace, [born, freed]: readonly [number, number]): WordTrace {
  const before = (moment: number): number => firstIndex(time_ns.length, (i) => (time_ns[i] ?? 0) < moment);
  const [from, end] = [before(born), before(freed)];
  return { time_ns: time_ns.slice(from, end), op: op.slice(from, end) };
}

/** What befalls a run: the program stands still at armings, or memory comes and goes, the tracer is stopped, and traps are lost. */
function troubled(random: Random, world: World): World {
  if (often(random, 0.3)) return { ...world, standstill_ns: between(random, 10e3, 300e3) };
  const { run_ns } = world;
  const strata = world.strata.flatMap((stratum) =>
    often(random, 0.5) ? inPieces(random, run_ns, stratum) : [stratum],
  );
  const stop = random() * run_ns;
  const stopped_ns = often(random, 0.3) ? [[stop, stop + between(random, 0.01, 0.2) * run_ns] as const] : [];
  const befallen: World = { ...world, stopped_ns, strata };
  if (!often(random, 0.4)) return befallen;
  return lossy(between(random, 0.001, 0.03), { name: "", make: () => befallen }).make(random);
}

export const DRAWN_WORLDS: readonly WorldKind[] = [
  { name: "work drawn at random", make: drawnWorld },
  { name: "work drawn at random, and what befalls it", make: (random) => troubled(random, drawnWorld(random)) },
];

import { expect, test } from "bun:test";
import type { WatchSample } from "../../../src/analyse/input/input.ts";
import { OP } from "../../../src/schema/operation.ts";
import { WORLD_STREAM } from "../../../src/simulate/coverage.ts";
import { tryWorld } from "../../../src/simulate/trial.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { type Hit, MS, one, SECOND, trace, words } from "./shapes.ts";

const RUN = 60 * SECOND;
const SEEDS = 12;
/** Longer than any short watch. */
const WINDOW = 500 * MS;

/** By turns of five seconds all words are used by instructions of which decoding cannot tell what they do, and one in eight by loads. */
function run(seed: number): { watches: readonly WatchSample[]; isUndecided: (ns: number) => boolean } {
  const random = seededRandom(seed, WORLD_STREAM);
  const phase = random() * 10 * SECOND;
  const isUndecided = (ns: number): boolean => (ns + phase) % (10 * SECOND) < 5 * SECOND;
  const list = words((word) => {
    const hits: Hit[] = [];
    for (let t = random() * 30 * MS; t < RUN; t += 30 * MS) {
      if (isUndecided(t)) hits.push([t, OP.unknown]);
      else if (word % 8 === 0) hits.push([t, OP.load]);
    }
    return trace(hits, RUN);
  });
  const { watches } = tryWorld(one("activation", list, { run_ns: RUN }), seed).input;
  return { watches, isUndecided };
}

test("of the watches that begin while decoding cannot tell reads from writes as many are long as at other times", () => {
  const isLong = ({ mode, dwell_limit_ns }: WatchSample): boolean => mode !== "w" && dwell_limit_ns >= WINDOW;
  const [undecided, decided] = [
    { long: 0, all: 0 },
    { long: 0, all: 0 },
  ];
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { watches, isUndecided } = run(seed);
    for (const watch of watches) {
      const begun = isUndecided(watch.begin_ns) ? undecided : decided;
      begun.all += 1;
      if (isLong(watch)) begun.long += 1;
    }
  }
  expect(decided.long).toBeGreaterThan(30);
  // Pairs take two registers, so that fewer watches begin, for which each stands for more; of them there were none.
  expect(undecided.long / undecided.all / (decided.long / decided.all)).toBeWithin(0.5, 2);
}, 60_000);

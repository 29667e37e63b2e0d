/**
 * A few words that are very hot, of which some runs draw none: what can be told of their sum, and what nobody can tell. The seeds are
 * fixed, so that the outcome is too.
 */

import { expect, setDefaultTimeout, test } from "bun:test";
import type { MetricRow } from "../../../src/analyse/figures/metric-row.ts";
import { computeMetrics } from "../../../src/analyse/metrics/registry.ts";
import { passGapNs } from "../../../src/analyse/watched/passes.ts";
import { WORLD_STREAM } from "../../../src/simulate/coverage.ts";
import { addrOf } from "../../../src/simulate/machine.ts";
import { truthOf } from "../../../src/simulate/reference.ts";
import { tryWorld } from "../../../src/simulate/trial.ts";
import { USUAL_POLICY, type World } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { WORLDS } from "./worlds.ts";

setDefaultTimeout(180_000);

const kind = WORLDS.find(({ name }) => name === "0.5 % of the words 100 times as hot");
if (kind === undefined) throw new Error("there is no such world");
const HOT = 2;

/** Whether a watch of a run fell on a hot word, and what was told of the bytes read. */
function readBy(seed: number) {
  const world = kind?.make(seededRandom(seed, WORLD_STREAM));
  const count = world?.strata[0]?.words.length;
  if (world === undefined || count === undefined) throw new Error("the world is empty");
  const { input } = tryWorld(world, seed);
  const isDrawn = input.watches.some(({ addr }) => (Number(addr - addrOf(0, 0)) / 8) % count < HOT);
  const row = computeMetrics({ ...input, steps: [] }).find(({ metric }) => metric === "read_bytes_per_s");
  const truth =
    truthOf(world.strata, world.run_ns, passGapNs(USUAL_POLICY.trap_ns)).get("read_bytes_per_s")?.lo ?? Number.NaN;
  const isTrue = (row?.lo ?? Number.NEGATIVE_INFINITY) <= truth && truth <= (row?.hi ?? Number.POSITIVE_INFINITY);
  return { isDrawn, isTrue, status: row?.status };
}

test("bytes read have a true value where hot words that carry a third of them were drawn, as in nearly all runs", () => {
  const runs = Array.from({ length: 60 }, (_, i) => readBy(9001 + i));
  const drawn = runs.filter(({ isDrawn }) => isDrawn);
  // Of 500 draws none falls on 0.5 % of the words in 8 % of the runs.
  expect(drawn.length).toBeGreaterThanOrEqual(50);
  expect(drawn.filter(({ status }) => status === "ok").length).toBeGreaterThanOrEqual(0.95 * drawn.length);
  expect(drawn.filter(({ isTrue }) => isTrue).length).toBeGreaterThanOrEqual(0.97 * drawn.length);
});

test("of a world in which no hot word was drawn nothing tells that it is not one without any", () => {
  // The first seed of those of the table in which none was drawn.
  const seed = 5007;
  const world = kind.make(seededRandom(seed, WORLD_STREAM));
  const [stratum] = world.strata;
  if (stratum === undefined) throw new Error("the world is empty");
  const cold = stratum.words.slice(HOT, 2 * HOT);
  const twin: World = { ...world, strata: [{ ...stratum, words: [...cold, ...stratum.words.slice(HOT)] }] };
  const figures = (one: World): MetricRow[] => computeMetrics({ ...tryWorld(one, seed).input, steps: [] });
  expect(figures(twin)).toEqual(figures(world));
  const gap_ns = passGapNs(USUAL_POLICY.trap_ns);
  const read = ({ strata, run_ns }: World): number => truthOf(strata, run_ns, gap_ns).get("read_bytes_per_s")?.lo ?? 0;
  expect(read(world) / read(twin)).toBeGreaterThan(1.4);
});

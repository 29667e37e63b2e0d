/**
 * A few words that are very hot, of which some runs draw none: what can be told of their sum, and what nobody can tell. The seeds are
 * fixed, so that the outcome is too.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { MetricRow } from "../../../src/analyse/figures/metric-row.ts";
import { computeMetrics } from "../../../src/analyse/metrics/registry.ts";
import { passGapNs } from "../../../src/analyse/watched/passes.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import { truthOf } from "../../../src/simulate/reference.ts";
import { tryWorld } from "../../../src/simulate/trial.ts";
import { USUAL_POLICY, type World } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { WORLDS } from "./worlds.ts";

setDefaultTimeout(180_000);

const kind = WORLDS.find(({ name }) => name === "0.5 % of the words 100 times as hot");
if (kind === undefined) throw new Error("there is no such world");
/** As `coverageOf` separates the worlds of a seed from its draws. */
const WORLD_STREAM = 77;
const HOT = 2;

test("bytes read have a value where three hot words carry a third of them, and a bound where none was drawn; nearly all are true", () => {
  const rows = coverageOf(kind, { seeds: 16, first: 9001 });
  const read = rows.find(({ metric }) => metric === "read_bytes_per_s");
  expect(read?.ok).toBeGreaterThanOrEqual(12);
  expect((read?.held ?? 0) / (read?.ok ?? 1)).toBeGreaterThanOrEqual(0.9);
  expect([(read?.ok ?? 0) + (read?.bound ?? 0), read?.right]).toEqual([16, read?.bound]);
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

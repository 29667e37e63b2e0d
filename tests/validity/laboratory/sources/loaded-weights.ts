/** Weights as they were loaded: how much of them is written once, from birth to death, as the map of regions and the watches of writes tell it. */
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import { figuresOf, METRICS } from "../../../../src/analyse/metrics/registry.ts";
import { WORLD_STREAM } from "../../../../src/simulate/coverage.ts";
import { tryWorld } from "../../../../src/simulate/trial.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { LOADED_WEIGHTS } from "../verdict-worlds.ts";
import { weightsWrittenOnce } from "../verdicts.ts";
import { nameOf, type SourceWorld } from "./source-world.ts";

const METRIC = "write_once_ratio";
/** The rate of writes says how much was written again at most. */
const FAMILIES = METRICS.filter(({ metrics }) =>
  metrics.some(({ name }) => name === METRIC || name === "write_bytes_per_s"),
);

export const WEIGHTS_WRITTEN: readonly SourceWorld[] = LOADED_WEIGHTS.map(({ name, make }) => ({
  name,
  sources: ["region_map"],
  run: (seed) => {
    const { world, input } = tryWorld(make(seededRandom(seed, WORLD_STREAM)), seed);
    const once = weightsWrittenOnce(world);
    const rows = groupsOf(input).flatMap((group) => figuresOf(group, FAMILIES));
    const names = rows.filter(({ metric, region_type }) => metric === METRIC && region_type === "weight").map(nameOf);
    return { rows, truth: new Map(names.map((figure) => [figure, { lo: once, hi: once }])) };
  },
}));

import { expect, test } from "bun:test";
import { groupsOf } from "../../../src/analyse/input/group.ts";
import { figuresOf, METRICS } from "../../../src/analyse/metrics/registry.ts";
import { passGapNs } from "../../../src/analyse/watched/passes.ts";
import { WORLD_STREAM } from "../../../src/simulate/coverage.ts";
import { tryWorld } from "../../../src/simulate/trial.ts";
import { USUAL_POLICY, type WorldKind } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { WEIGHTS_WRITTEN } from "./sources/loaded-weights.ts";
import { sourceCoverage } from "./sources/source-worlds.ts";
import { VERDICT_WORLDS } from "./verdict-worlds.ts";
import { trueLabels } from "./verdicts.ts";

const SEEDS = 5;
const UNDECIDED = "insufficient";
const GAP_NS = passGapNs(USUAL_POLICY.trap_ns);

const JUDGED = ["write_bytes_per_s", "write_once_ratio", "retention_p50_ns", "suitability"];
const FAMILIES = METRICS.filter(({ metrics }) => metrics.some(({ name }) => JUDGED.includes(name)));

/** Runs of a world with what is told of its verdict and of its weights. */
function runs({ make }: WorldKind) {
  return Array.from({ length: SEEDS }, (_, i) => {
    const seed = i + 1;
    const { world, input } = tryWorld(make(seededRandom(seed, WORLD_STREAM)), seed);
    return { world, rows: groupsOf(input).flatMap((group) => figuresOf(group, FAMILIES)) };
  });
}

test.each(VERDICT_WORLDS)(
  "the label of $kind.name is that of the definition",
  ({ kind, label }) => {
    const told = runs(kind).map(({ world, rows }) => {
      const row = rows.find(({ metric, phase }) => metric === "suitability" && phase === "all");
      return {
        told: row?.label ?? UNDECIDED,
        labels: trueLabels(world, row?.region_type ?? "", GAP_NS),
        why: row?.why,
      };
    });
    const given = told.filter((one) => one.told !== UNDECIDED);
    expect(given.filter((one) => !one.labels.includes(one.told))).toEqual([]);
    if (label !== null) expect(given.map((one) => one.told)).toEqual(Array(SEEDS).fill(label));
  },
  60_000,
);

test.each(WEIGHTS_WRITTEN)(
  "of $name as many are written once as is told",
  async (kind) => {
    const [row, ...others] = await sourceCoverage(kind, { seeds: SEEDS });
    expect(others).toEqual([]);
    expect(row).toMatchObject({ source: "region_map", runs: SEEDS, refused: 0 });
    expect((row?.held ?? 0) + (row?.right ?? 0)).toBe(SEEDS);
  },
  60_000,
);

import { expect, test } from "bun:test";
import { groupsOf } from "../../../src/analyse/input/group.ts";
import { figuresOf, METRICS } from "../../../src/analyse/metrics/registry.ts";
import { OP } from "../../../src/schema/operation.ts";
import { WORLD_STREAM } from "../../../src/simulate/coverage.ts";
import { tryWorld } from "../../../src/simulate/trial.ts";
import { USUAL_POLICY, type World } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { LIVING_WORLDS } from "./living-worlds.ts";

const SEEDS = 40;
const WORD_BYTES = 8;
/** Two reads so near each other are one pass: fewer than one in a hundred here. */
const MERGED = 0.01;

/** Bytes of all reads in a second. */
function readBytes({ strata, run_ns }: World): number {
  let loads = 0;
  for (const { words } of strata)
    for (const { time_ns, op } of words)
      loads += time_ns.filter((time, i) => time >= 0 && time < run_ns && op[i] === OP.load).length;
  return (loads * WORD_BYTES) / (run_ns / 1e9);
}

test("memory that is used most right after it came is told with these uses, of which few windows hold any", () => {
  const kind = LIVING_WORLDS.find(({ name }) => name.includes("ever more seldom with age"));
  if (kind === undefined) throw new Error("no such world");
  const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => name === "read_bytes_per_s"));
  let held = 0;
  let ratios = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const world = kind.make(seededRandom(seed, WORLD_STREAM));
    const truth = readBytes(world);
    const { input } = tryWorld(world, seed, USUAL_POLICY);
    const rows = groupsOf({ ...input, steps: [] }).flatMap((group) => figuresOf(group, families));
    const { value, lo, hi } = rows.find(({ source }) => source === "watch") ?? {};
    ratios += (value ?? 0) / truth;
    if ((lo ?? 0) <= truth && truth * (1 - MERGED) <= (hi ?? 0)) held += 1;
  }
  // With each moment counted alike 0.8 of the truth, and half of the intervals held it.
  expect(ratios / SEEDS).toBeWithin(0.9, 1.1);
  expect(held).toBeGreaterThanOrEqual(36);
}, 120_000);

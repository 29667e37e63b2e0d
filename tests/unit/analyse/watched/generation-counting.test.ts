import { expect, test } from "bun:test";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import { passRate } from "../../../../src/analyse/watched/rate/pass-rate.ts";
import { tryWorld } from "../../../../src/simulate/trial.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { STEP_WORLDS } from "../../../validity/laboratory/step-worlds.ts";

/** Reads per second and byte of the whole generation, beside what the words had in the world as it went. */
function readsOf(name: string, seed: number) {
  const kind = STEP_WORLDS.find((world) => world.name === name);
  if (kind === undefined) throw new Error(`no world is named ${name}`);
  const described = kind.make(seededRandom(seed));
  const { world, input } = tryWorld(described, seed);
  const group = groupsOf(input).find(({ span }) => span.phase === "generation" && span.step === "all");
  if (group === undefined) throw new Error("the world has no generation");
  const words = world.strata.flatMap((stratum) => stratum.words);
  const reads = words.reduce((sum, { time_ns }) => sum + time_ns.length, 0) / words.length;
  return {
    ...passRate(group.uniform, "read"),
    truth: reads / (world.run_ns / 1e9),
    longer: world.run_ns / described.run_ns,
  };
}

test("a generation is counted by whole steps where the program stands still at each arming, and windows of time are shorter than steps", () => {
  const { rate, truth, echo, longer } = readsOf("steps of 2 to 6 ms, 3 ms still, 6 reads of a word in each", 1);
  expect(longer).toBeGreaterThan(1.05);
  expect(echo).toBe(0);
  expect((rate.value ?? 0) / truth).toBeWithin(0.9, 1.1);
  expect(rate.lo ?? Number.POSITIVE_INFINITY).toBeLessThan(truth);
  expect(rate.hi ?? 0).toBeGreaterThan(truth);
});

test("prompts of which few watches tell are counted by the share of their time that windows hold", () => {
  const { rate, truth } = readsOf("steps of 2 to 6 ms between prompts, 3 ms still at an arming", 1);
  expect((rate.value ?? 0) / truth).toBeWithin(0.85, 1.15);
  expect(rate.lo ?? Number.POSITIVE_INFINITY).toBeLessThan(truth);
  expect(rate.hi ?? 0).toBeGreaterThan(truth);
});

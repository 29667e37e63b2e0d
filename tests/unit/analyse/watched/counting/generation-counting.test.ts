import { expect, test } from "bun:test";
import { groupsOf } from "../../../../../src/analyse/input/group.ts";
import { passRate } from "../../../../../src/analyse/watched/rate/pass-rate.ts";
import { OP } from "../../../../../src/schema/operation.ts";
import { tryWorld } from "../../../../../src/simulate/trial.ts";
import type { World } from "../../../../../src/simulate/world.ts";
import { type Random, seededRandom } from "../../../../../src/statistics/prng.ts";
import { type Hit, MS, SECOND, trace, words } from "../../../../validity/laboratory/shapes.ts";
import { STEP_WORLDS } from "../../../../validity/laboratory/step-worlds.ts";

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

const LONG_NS = 30 * SECOND;

/** Prompts of 2 s that write each word, ten steps of 40 ms after each, and words of which 99 in 100 are read once in each of these. */
function nearlyAlike(random: Random): World {
  const steps: World["steps"][number][] = [];
  for (let begin_ns = 0; ; ) {
    const isPrompt = steps.length % 11 === 0;
    const end_ns = begin_ns + (isPrompt ? 2 * SECOND : 40 * MS) * (0.8 + 0.4 * random());
    if (end_ns > LONG_NS) break;
    steps.push({ step: isPrompt ? "prefill" : "decode", begin_ns, end_ns, n_tokens: isPrompt ? 64 : 1 });
    begin_ns = end_ns + 2 * MS;
  }
  const list = words((word) => {
    const hits = steps.flatMap(({ step, begin_ns, end_ns }): Hit[] => {
      if (step === "prefill") return [[begin_ns + random() * (end_ns - begin_ns), OP.store]];
      return word % 100 > 0 ? [[begin_ns + (2 + 28 * random()) * MS, OP.load]] : [];
    });
    return trace(hits, LONG_NS);
  }, 200);
  const strata = [{ stratum: "kv_cache", region_type: "kv_cache", words: list }] as const;
  return { run_ns: LONG_NS, token_period_ns: 40 * MS, steps, strata };
}

test("where all that were watched were read once in each whole step, the interval allows for a fortieth that were not", () => {
  for (let seed = 1; seed <= 8; seed++) {
    const { world, input } = tryWorld(nearlyAlike(seededRandom(seed)), seed, {
      budget_pct: 1,
      trap_ns: 16_000,
      retarget_ns: 60_000,
    });
    const group = groupsOf(input).find(({ span }) => span.phase === "generation" && span.step === "all");
    if (group === undefined) throw new Error("the world has no generation");
    const { rate } = passRate(group.uniform, "read");
    expect(rate.lo ?? Number.POSITIVE_INFINITY).toBeLessThan(0.975 * (rate.value ?? 0));
    const reads = world.strata.flatMap((stratum) => stratum.words).map(({ time_ns }) => time_ns.length);
    expect(rate.lo ?? 0).toBeLessThan(
      reads.reduce((sum, each) => sum + each, 0) / reads.length / (group.span.window_ns / 1e9),
    );
  }
});

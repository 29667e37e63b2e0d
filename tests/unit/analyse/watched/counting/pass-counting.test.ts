import { expect, test } from "bun:test";
import { groupsOf } from "../../../../../src/analyse/input/group.ts";
import type { StepSample } from "../../../../../src/analyse/input/input.ts";
import { readsPerBytePerToken } from "../../../../../src/analyse/metrics/byte-rates.ts";
import { figuresOf } from "../../../../../src/analyse/metrics/registry.ts";
import { countPasses } from "../../../../../src/analyse/watched/counting/pass-counting.ts";
import { OP } from "../../../../../src/schema/operation.ts";
import { tryWorld } from "../../../../../src/simulate/trial.ts";
import type { World } from "../../../../../src/simulate/world.ts";
import { type Random, seededRandom } from "../../../../../src/statistics/prng.ts";

const RUN_NS = 110e9;
const STEP_NS = 1.5e9;

/** Steps of 1.5 to 13 s where nothing else is told, and words of which each is read every 0.6 to 6 s. */
function slowSteps(random: Random, lengthOf = (): number => STEP_NS * 9 ** random()): World {
  const steps: StepSample[] = [];
  for (let end_ns = 0; end_ns < RUN_NS - 9 * STEP_NS; ) {
    const begin_ns = end_ns;
    end_ns += lengthOf();
    steps.push({ step: "decode", begin_ns, end_ns, n_tokens: 1 });
  }
  const words = Array.from({ length: 400 }, () => {
    const every = 600e6 * 10 ** random();
    const time_ns = Float64Array.from({ length: Math.floor(RUN_NS / every) }, (_, k) => (k + random()) * every);
    return { time_ns, op: new Uint8Array(time_ns.length).fill(OP.load) };
  });
  return {
    run_ns: RUN_NS,
    token_period_ns: null,
    steps,
    strata: [{ stratum: "activation", region_type: "activation", words }],
  };
}

test("where a few watches outlast a step by chance all watches speak for it, by their share of its time", () => {
  for (let seed = 1; seed <= 3; seed++) {
    const { input } = tryWorld(slowSteps(seededRandom(seed)), seed);
    const decode = groupsOf(input).find(({ span }) => span.step === "decode");
    if (decode === undefined) throw new Error("nothing was decoded");
    const { held } = countPasses(decode.uniform, "tokens");
    expect(held.filter((tokens) => tokens > 0).length).toBeGreaterThan(0.9 * held.length);
  }
});

test("steps of which one in ten stands still tell nothing for each token where their time is all that windows hold", () => {
  const random = seededRandom(1);
  const { input } = tryWorld(
    slowSteps(random, () => STEP_NS * (random() < 0.9 ? 1 : 8)),
    1,
  );
  const decode = groupsOf(input).find(({ span }) => span.step === "decode");
  if (decode === undefined) throw new Error("nothing was decoded");
  expect(countPasses(decode.uniform, "tokens").uneven).toBeGreaterThan(1.5);
  const [figure] = figuresOf(decode, [readsPerBytePerToken]).filter(({ source }) => source === "watch");
  expect(figure).toMatchObject({ status: "insufficient", value: null, lo: null, hi: null });
  expect(figure?.why).toStartWith("steps are of very uneven length");
});

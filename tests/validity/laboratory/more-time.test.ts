/**
 * The time that a run says would halve an interval does: worlds of several kinds are run for as long as was asked for, and
 * the interval of the figure that was named is half as wide, in the median over runs. Seeds are fixed, so the outcome is too.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { computeMetrics } from "../../../src/analyse/metrics/registry.ts";
import { type MoreTime, moreTime } from "../../../src/analyse/watched/more-time.ts";
import { trapDelay } from "../../../src/analyse/watched/trap-delay.ts";
import { worldSchema } from "../../../src/config/world-schema.ts";
import { describedWorld } from "../../../src/simulate/described-world.ts";
import { tryWorld } from "../../../src/simulate/trial.ts";
import { USUAL_POLICY } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";

setDefaultTimeout(60_000);

const RUN_S = 8;
const SEEDS = 5;
const ACTIVATION = { class: "activation", bytes: "64MiB", period: "20ms" };

function inputOf(world: object, runS: number, seed: number) {
  const described = worldSchema.parse({ ...world, run: runS });
  return tryWorld(describedWorld(described).make(seededRandom(seed, 77)), seed).input;
}

function adviceOf(world: object, seed: number): MoreTime | null {
  const input = inputOf(world, RUN_S, seed);
  return moreTime(input, computeMetrics(input));
}

/** How far the interval of the figure that was named reaches, in percent of its value, in a run of its own; NaN where it has none. */
function widthAfter(world: object, seed: number, { metric, region_type, run_s, more_s }: MoreTime): number {
  const rows = computeMetrics(inputOf(world, run_s + more_s, 1000 + seed));
  const row = rows.find((one) => one.metric === metric && one.region_type === region_type && one.source === "watch");
  const { value, lo, hi } = row ?? { value: null, lo: null, hi: null };
  return value === null || lo === null || hi === null ? Number.NaN : (100 * Math.max(value - lo, hi - value)) / value;
}

const WORLDS: [name: string, world: object][] = [
  ["work that rests half of the time", { strata: [{ ...ACTIVATION, class: "weight" }], busy: "0.5s", idle: "0.5s" }],
  ["a buffer that is rewritten unevenly", { strata: [{ ...ACTIVATION, touches: 4, writes: 0.25, uneven: 0.5 }] }],
  ["words that are unlike each other", { strata: [{ ...ACTIVATION, sigma: 0.5, touches: 2, writes: 0.5 }] }],
];

describe("a run as long as was said", () => {
  test.each(WORLDS)("halves the interval that was named: %s", (_, world) => {
    const ratios: number[] = [];
    for (let seed = 1; seed <= SEEDS; seed++) {
      const advice = adviceOf(world, seed);
      if (advice === null) continue;
      expect(advice).toMatchObject({ run_s: RUN_S, more_s: 3 * RUN_S });
      ratios.push(widthAfter(world, seed, advice) / advice.half_width_pct);
    }
    // It may have nothing to say of a run, but not of nearly all.
    expect(ratios.length).toBeGreaterThanOrEqual(SEEDS / 2);
    ratios.sort((a, b) => a - b);
    expect(ratios[ratios.length >> 1]).toBeWithin(0.35, 0.65);
  });

  test("is not asked for where time is not what an interval lacks", () => {
    // Every word is used at one even pace: each interval is narrow.
    expect(adviceOf({ strata: [{ ...ACTIVATION, class: "weight", period: "7ms" }], token: "7ms" }, 1)).toBeNull();
    // Nothing happens: all is bounds and refusals.
    expect(adviceOf({ strata: [{ ...ACTIVATION, period: "1h" }] }, 1)).toBeNull();
    // Half of the times are one number and half another: however long the run, both may be the median.
    const two = { strata: [{ ...ACTIVATION, class: "weight", touches: 2, spacing: "5ms" }] };
    const input = inputOf(two, RUN_S, 1);
    const median = computeMetrics(input).find(({ metric }) => metric === "iai_p50_ns");
    // The lower end has room for the trap in each.
    expect([median?.lo, median?.hi]).toEqual([5e6 - trapDelay(1, USUAL_POLICY.trap_ns), 15e6]);
    expect(moreTime(input, computeMetrics(input))?.metric).not.toBe("iai_p50_ns");
  });
});

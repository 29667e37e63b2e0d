import { describe, expect, test } from "bun:test";
import { mirroredOrder } from "../../../src/overhead/arm-order.ts";
import { armEffects, type EffectBlock } from "../../../src/overhead/effect.ts";
import { FIGURE_NAMES, type FigureValues } from "../../../src/schema/observer-effect.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { signedRankP } from "../../../src/statistics/wilcoxon.ts";

function values(of: Partial<FigureValues>): FigureValues {
  return { ...(Object.fromEntries(FIGURE_NAMES.map((name) => [name, null])) as unknown as FigureValues), ...of };
}

/** Blocks in which `on` is slower by `pct`, with runs that vary by `noisePct`. */
function blocksOf(pct: number, noisePct: number, count = 10): EffectBlock[] {
  const random = seededRandom(4);
  const noise = (): number => Math.exp(((random() + random() + random() - 1.5) * 2 * noisePct) / 100);
  const runs = (factor: number): FigureValues[] =>
    [1, 2].map(() => values({ tokens_per_s: 50 / (factor * noise()), wall_s: 10 * factor * noise() }));
  return Array.from(
    { length: count },
    () =>
      new Map([
        ["off", runs(1)],
        ["off-again", runs(1)],
        ["on", runs(1 + pct / 100)],
      ]),
  );
}

const OPTIONS = { marginPct: 2, seed: 1 };

describe("the order of the arms", () => {
  test("has every arm twice in a block, mirrored around its middle, and repeats with its seed", () => {
    const order = mirroredOrder(["a", "b", "c"], 50, 7);
    expect(order).toEqual(mirroredOrder(["a", "b", "c"], 50, 7));
    for (const block of order) {
      expect(block).toEqual(block.toReversed());
      expect(block.slice(0, 3).toSorted()).toEqual(["a", "b", "c"]);
    }
    expect(new Set(order.map((block) => block.join(""))).size).toBe(6);
  });

  test("is ABBA or BAAB for two arms, each about as often", () => {
    const order = mirroredOrder(["off", "on"], 200, 11).map((block) => block.join(" "));
    expect(new Set(order)).toEqual(new Set(["off on on off", "on off off on"]));
    const offFirst = order.filter((block) => block.startsWith("off")).length;
    // Four standard errors of a fair draw of 200.
    expect(Math.abs(offFirst - 100)).toBeLessThan(4 * Math.sqrt(50));
  });
});

describe("the signed-rank test", () => {
  test("agrees with published values", () => {
    // All of six on one side: 2 / 2^6. One of eight against, with the least rank: 2 x 2 / 2^8.
    expect(signedRankP([1, 2, 3, 4, 5, 6])).toBeCloseTo(0.03125, 12);
    expect(signedRankP([-1, 2, 3, 4, 5, 6, 7, 8])).toBeCloseTo(4 / 256, 12);
  });

  test("leaves out zeros, shares ranks of ties, and knows nothing of nothing", () => {
    expect(signedRankP([0, 0])).toBe(1);
    expect(signedRankP([])).toBe(1);
    expect(signedRankP([1, -1, 1, -1])).toBe(1);
    expect(signedRankP([1, 1, 1, 1, 0])).toBeCloseTo(2 / 16, 12);
  });
});

describe("what is said of an arm", () => {
  test("is that it passes where its slowdown is shown to be below the margin", () => {
    const [tokens, wall] = armEffects(blocksOf(0.5, 0.3), "on", OPTIONS);
    expect(tokens).toMatchObject({ figure: "tokens_per_s", blocks: 10, verdict: "PASS", why: null });
    expect(wall).toMatchObject({ figure: "wall_s", verdict: "PASS" });
    // Fewer tokens per second is a slowdown, as more seconds are.
    expect(tokens?.slowdown_pct.value).toBeCloseTo(0.5, 0);
    expect(wall?.slowdown_pct.value).toBeCloseTo(0.5, 0);
    expect(tokens?.off).toBeCloseTo(50, 0);
  });

  test("is that it fails where its slowdown is shown to be above the margin", () => {
    expect(armEffects(blocksOf(5, 0.3), "on", OPTIONS)[0]).toMatchObject({ verdict: "FAIL", repeats_needed: null });
  });

  test("is nothing where off against off does not pass, and how many repeats would be needed", () => {
    const [again] = armEffects(blocksOf(0, 4), "off-again", OPTIONS);
    const [on] = armEffects(blocksOf(30, 4), "on", OPTIONS);
    expect(again).toMatchObject({ verdict: "INCONCLUSIVE" });
    expect(on).toMatchObject({ verdict: "INCONCLUSIVE", why: expect.stringContaining("too noisy") });
    const sd = again?.sd_pct ?? Number.NaN;
    expect(again?.repeats_needed).toBe(2 * Math.ceil((2 * 1.6448536 * sd * 0.5) ** 2));
    expect(on?.repeats_needed).toBe(again?.repeats_needed ?? null);
  });

  test("is that equal arms fail where they are shown to differ by more than the margin", () => {
    const shifted = blocksOf(0, 0.3).map((block) => new Map([...block, ["off-again", block.get("off") ?? []]]));
    const slow = shifted.map(
      (block) =>
        new Map([...block, ["off-again", (block.get("off-again") ?? []).map((run) => ({ ...run, tokens_per_s: 45 }))]]),
    );
    expect(armEffects(slow, "off-again", OPTIONS)[0]).toMatchObject({ verdict: "FAIL" });
  });

  test("is an interval with two ends from two blocks on", () => {
    for (const count of [2, 3, 4]) {
      const slowdown = armEffects(blocksOf(5, 1, count), "on", OPTIONS)[0]?.slowdown_pct;
      expect([Number.isFinite(slowdown?.lo), Number.isFinite(slowdown?.hi)]).toEqual([true, true]);
    }
  });

  test("is no verdict below five blocks, and counts blocks with a figure missing", () => {
    for (const arm of ["on", "off-again"])
      expect(armEffects(blocksOf(0, 0.1, 4), arm, OPTIONS)[0]).toMatchObject({
        verdict: "INCONCLUSIVE",
        why: "4 usable blocks are too few for a verdict: it takes 5",
        repeats_needed: 10,
      });
    const blocks = blocksOf(0.5, 0.3).map((block, i) =>
      i === 3 ? new Map([...block, ["on", [values({ wall_s: 10 }), values({ wall_s: 10 })]]]) : block,
    );
    expect(armEffects(blocks, "on", OPTIONS)[0]).toMatchObject({ blocks: 9, unusable: 1 });
  });
});

import { describe, expect, test } from "bun:test";
import { type AbResult, compareArms } from "../../../src/overhead/ab.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import recorded from "../../fixtures/noise/off-against-off.json" with { type: "json" };

const SERIES = 1000;
/** Ten blocks are the 20 repeats that `compare` makes unless told otherwise. */
const BLOCKS = 10;
const MARGIN_PCT = 2;
/** A share of 0.05 and three standard errors of it in so many series. */
const ALPHA_LIMIT = 0.05 + 3 * Math.sqrt((0.05 * 0.95) / SERIES);

/**
 * Series of blocks drawn from those recorded, with the drift and the wild runs that they had. Which two of a block's
 * mirrored runs are `off` is a fair draw, so that the true slowdown is the shift and nothing else.
 */
function results(blocks: readonly (readonly number[])[], shiftPct: number): AbResult[] {
  const random = seededRandom(20_261, Math.round(shiftPct * 10));
  return Array.from({ length: SERIES }, (_, seed) => {
    const series = Array.from({ length: BLOCKS }, () => {
      const drawn = blocks[Math.floor(random() * blocks.length)] ?? [];
      const [first = 0, second = 0, third = 0, fourth = 0] = drawn.map((tokensPerS) => 1 / tokensPerS);
      const [off, on] =
        random() < 0.5
          ? [
              [first, fourth],
              [second, third],
            ]
          : [
              [second, third],
              [first, fourth],
            ];
      return { off: off ?? [], on: (on ?? []).map((cost) => cost * (1 + shiftPct / 100)) };
    });
    return compareArms(series, MARGIN_PCT, seed);
  });
}

function share(of: readonly AbResult[], holds: (result: AbResult) => boolean): number {
  return of.filter(holds).length / of.length;
}

for (const [name, blocks] of [
  ["a busy machine", recorded.busy],
  ["a calmer machine", recorded.calmer],
] as const) {
  describe(`on noise recorded on ${name}, in ${SERIES} drawn series for each slowdown`, () => {
    for (const shift of [0, 1, 2, 5]) {
      const drawn = results(blocks, shift);

      test(`the 95 % interval holds a slowdown of ${shift} % in at least 93 %`, () => {
        const held = share(drawn, ({ slowdown_pct: { lo, hi } }) => lo <= shift && shift <= hi);
        expect(held).toBeGreaterThanOrEqual(0.93);
      });

      if (shift === 0) {
        test("two equal arms are not called different more often than alpha allows", () => {
          const different = share(drawn, ({ slowdown_pct: { lo, hi } }) => lo > 0 || hi < 0);
          expect(different).toBeLessThanOrEqual(ALPHA_LIMIT);
        });
      }

      if (shift === MARGIN_PCT) {
        test("a slowdown of exactly the margin passes, and fails, no more often than alpha allows", () => {
          expect(share(drawn, ({ verdict }) => verdict === "PASS")).toBeLessThanOrEqual(ALPHA_LIMIT);
          expect(share(drawn, ({ verdict }) => verdict === "FAIL")).toBeLessThanOrEqual(ALPHA_LIMIT);
        });
      }
    }
  });
}

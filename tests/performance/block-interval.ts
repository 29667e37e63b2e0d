/** How sure a figure over blocks is. */
import { seededRandom } from "../../src/statistics/prng.ts";

const RESAMPLES = 4000;

/** Percentile interval of a figure over blocks that are drawn with replacement, as text. */
export function blockInterval<Block>(
  blocks: readonly Block[],
  figure: (blocks: readonly Block[]) => number,
  seed: number,
): string {
  const random = seededRandom(seed);
  const values = Array.from({ length: RESAMPLES }, () =>
    figure(blocks.map(() => blocks[Math.floor(random() * blocks.length)] as Block)),
  ).sort((a, b) => a - b);
  const at = (share: number): string => (values[Math.floor(share * (RESAMPLES - 1))] ?? Number.NaN).toPrecision(3);
  return `95 % [${at(0.025)}, ${at(0.975)}]`;
}

/** In which order the arms of an experiment run. */
import { seededRandom } from "../statistics/prng.ts";

/**
 * `blocks` blocks, each a drawn order of all arms and then its mirror: every arm runs twice in a block, around the same
 * middle, so that drift that is linear in a block cancels between any two arms. With two arms these are the blocks
 * ABBA and BAAB.
 */
export function mirroredOrder(arms: readonly string[], blocks: number, seed: number): string[][] {
  const random = seededRandom(seed);
  return Array.from({ length: blocks }, () => {
    const drawn = [...arms];
    for (let i = drawn.length - 1; i > 0; i--) {
      const k = Math.floor(random() * (i + 1));
      [drawn[i], drawn[k]] = [drawn[k] ?? "", drawn[i] ?? ""];
    }
    return [...drawn, ...drawn.toReversed()];
  });
}

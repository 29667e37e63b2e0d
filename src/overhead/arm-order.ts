/** In which order the arms of an experiment run. */
import { seededRandom } from "../statistics/prng.ts";

/**
 * `blocks` blocks, each a drawn order of all arms and then its mirror: every arm runs twice in a block, around the same
 * middle, so that drift that is linear in a block cancels between any two arms. With two arms these are the blocks
 * ABBA and BAAB.
 */
export function mirroredOrder<Arm extends string>(arms: readonly Arm[], blocks: number, seed: number): Arm[][] {
  const random = seededRandom(seed);
  return Array.from({ length: blocks }, () => {
    const drawn = [...arms];
    for (let i = drawn.length - 1; i > 0; i--) {
      const [taken] = drawn.splice(Math.floor(random() * (i + 1)), 1);
      if (taken !== undefined) drawn.push(taken);
    }
    return [...drawn, ...drawn.toReversed()];
  });
}

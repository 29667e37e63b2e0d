/** Seeded random numbers for the draws of watches, so that a run can be drawn again. */

/** Uniform numbers in [0, 1). */
export type Random = () => number;

/** xoshiro128** (D. Blackman, S. Vigna, 2018), its state filled by splitmix32; 53 random bits per number. */
export function seededDraws(seed: number): Random {
  let mix = seed | 0;
  const state = new Uint32Array(4);
  for (let i = 0; i < 4; i++) {
    mix = (mix + 0x9e3779b9) | 0;
    let z = Math.imul(mix ^ (mix >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    state[i] = z ^ (z >>> 15);
  }
  const next32 = (): number => {
    const [s0 = 0, s1 = 0, s2 = 0, s3 = 0] = state;
    const product = Math.imul(s1, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    state[2] = s2 ^ s0;
    state[3] = s3 ^ s1;
    state[1] = s1 ^ (state[2] ?? 0);
    state[0] = s0 ^ (state[3] ?? 0);
    state[2] = (state[2] ?? 0) ^ (s1 << 9);
    state[3] = ((state[3] ?? 0) << 11) | ((state[3] ?? 0) >>> 21);
    return result;
  };
  return () => ((next32() >>> 5) * 2 ** 26 + (next32() >>> 6)) / 2 ** 53;
}

/** Seeded random numbers, so that a run can be drawn again, and every interval of it computed again. */

/** A source of uniform numbers in [0, 1). */
export type Random = () => number;

/**
 * Seeded generator: sfc32 (C. Doty-Humphrey, PractRand), its state filled by splitmix32.
 * @param seed any number; its low 32 bits and its high part both count
 * @param stream separates generators of one seed
 * @returns uniform numbers in [0, 1) with 32 random bits
 */
export function seededRandom(seed: number, stream = 0): Random {
  let mix = (seed ^ Math.imul(Math.floor(seed / 2 ** 32), 0x9e3779b1) ^ Math.imul(stream + 1, 0x85ebca6b)) | 0;
  const split = (): number => {
    mix = (mix + 0x9e3779b9) | 0;
    let t = mix ^ (mix >>> 16);
    t = Math.imul(t, 0x21f0aaad);
    t = t ^ (t >>> 15);
    t = Math.imul(t, 0x735a2d97);
    return t ^ (t >>> 15);
  };
  let a = split();
  let b = split();
  let c = split();
  let counter = split();
  return () => {
    const t = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 2 ** 32;
  };
}

/** Separates the draws of a run from its resamples. */
const DRAWS = 0x64726177;

/**
 * Numbers for draws among many bytes: two of the generator's numbers each.
 * @returns uniform numbers in [0, 1) with 53 random bits
 */
export function seededDraws(seed: number): Random {
  const next = seededRandom(seed, DRAWS);
  return () => (Math.floor(next() * 2 ** 27) * 2 ** 26 + Math.floor(next() * 2 ** 26)) / 2 ** 53;
}

/** A seeded source of randomness, so that every draw of an interval can be repeated. */

/**
 * Uniform numbers in [0, 1) with 32 random bits, the same for the same seed.
 * Small Fast Counter, 32-bit variant (Chris Doty-Humphrey, PractRand).
 */
export function seededRandom(seed: number): () => number {
  let a = 0x9e3779b9 ^ (seed >>> 0);
  let b = Math.floor(seed / 2 ** 32) >>> 0;
  let c = 0x243f6a88;
  let counter = 1;
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return (sum >>> 0) / 2 ** 32;
  };
  // The first outputs still show the seed.
  for (let i = 0; i < 16; i++) next();
  return next;
}

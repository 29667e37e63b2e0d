/** A 32-bit hash of three words, mixed so that neighbours fall apart (constants of MurmurHash3, public domain). */
export function stackHash(a: number, b: number, c: number): number {
  let hash = Math.imul(a ^ Math.imul(b, 0xcc9e2d51), 0x1b873593);
  hash = Math.imul(hash ^ (hash >>> 15) ^ c, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

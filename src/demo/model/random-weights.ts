/** Random weights in bulk: a chunk of blocks at a time, the same bytes for the same seed whatever the chunk. */
import type { WeightType } from "./weight-type.ts";

/** Even, so that a chunk ends on a 32-bit word whatever the block. */
const CHUNK_BLOCKS = 2 ** 16;
const LARGEST_F16_WEIGHT = 0.03;
const F16_LEVELS = 4096;

/** The bits of a number as an IEEE half. */
function f16Bits(value: number): number {
  return new Uint16Array(new Float16Array([value]).buffer)[0] ?? 0;
}

/** Halves evenly spread over +-0.03. */
function f16Levels(): Uint16Array {
  const step = (2 * LARGEST_F16_WEIGHT) / (F16_LEVELS - 1);
  return new Uint16Array(Float16Array.from({ length: F16_LEVELS }, (_, i) => i * step - LARGEST_F16_WEIGHT).buffer);
}

/** A seed of its own for each tensor, never 0: the finaliser of MurmurHash3 (A. Appleby, public domain). */
function tensorSeed(seed: number, tensor: number): number {
  let hash = (seed ^ Math.imul(tensor + 1, 0x9e3779b9)) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0 || 1;
}

/** Fills words with xorshift32 (Marsaglia, 2003) and returns the state to go on with. */
function fillWords(words: Uint32Array, state: number): number {
  for (let i = 0; i < words.length; i += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return state;
}

/** The bytes of one matrix, chunk after chunk; a chunk is valid until the next is taken, of any matrix. */
export type WeightSource = (elements: number, tensor: number) => Generator<Uint8Array<ArrayBuffer>>;

/**
 * A source of matrices of one type; `elements` is a multiple of the block, and each `tensor`, by its place in the file,
 * has its own stream of random numbers.
 */
export function randomWeights(type: WeightType, seed: number): WeightSource {
  const chunk = new ArrayBuffer(CHUNK_BLOCKS * type.blockBytes);
  const words = new Uint32Array(chunk);
  const halves = new Uint16Array(chunk);
  const bytes = new Uint8Array(chunk);
  const levels = f16Levels();
  const scale = type.scale === null ? null : f16Bits(type.scale);
  const halvesPerBlock = type.blockBytes / 2;
  return function* matrix(elements, tensor) {
    let state = tensorSeed(seed, tensor);
    for (let left = elements / type.blockElements; left > 0; left -= CHUNK_BLOCKS) {
      state = fillWords(words, state);
      if (scale === null) {
        for (let i = 0; i < halves.length; i += 1) halves[i] = levels[(halves[i] ?? 0) & (F16_LEVELS - 1)] ?? 0;
      } else {
        for (let i = 0; i < halves.length; i += halvesPerBlock) halves[i] = scale;
      }
      yield bytes.subarray(0, Math.min(left, CHUNK_BLOCKS) * type.blockBytes);
    }
  };
}

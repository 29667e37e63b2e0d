/** Blocks of 64 B, 4 KiB, 64 KiB and 2 MiB that samples fell on, and how many of them once and twice. */
import { FULL, keyNumbers } from "../../columnar/keys/key-numbers.ts";
import { GRAINS, type SeenBlocks } from "../input/input.ts";
import { STEPS } from "./sampled-rows.ts";

const [LINE_SHIFT = 0, PAGE_SHIFT = 0, ...LARGER] = GRAINS.map((grain) => 31 - Math.clz32(grain));
/** A page has, for each step, two bits for each of its lines: samples on it, of which more than two are three. */
const LINE_BITS = 2;
const MANY = 3;
const WORD_SHIFT = 4;
const LINES_OF_WORD = 1 << WORD_SHIFT;
const LINES = 1 << (PAGE_SHIFT - LINE_SHIFT);
const STEP_WORDS = LINES >> WORD_SHIFT;
const PAGE_WORDS = STEPS.length * STEP_WORDS;
const FIRST_PAGES = 1 << 11;

type Counts = { -readonly [K in keyof SeenBlocks]: SeenBlocks[K] };

/** By position in STEPS, then in GRAINS; the first, `none`, is of all samples whatever their step. */
export type SeenSums = readonly (readonly Counts[])[];

export function seenSums(): SeenSums {
  return STEPS.map(() => GRAINS.map((grain_bytes) => ({ grain_bytes, distinct: 0, once: 0, twice: 0 })));
}

export interface SeenPages {
  /**
   * Takes a sample.
   * @param owner whose blocks they are
   * @param low lower 32 bits of the address
   * @param high the upper ones
   * @param step position in STEPS
   * @returns false where there is no room for another page
   */
  add(owner: number, low: number, high: number, step: number): boolean;
  /** Counts all blocks, after the last sample. @param sumsOf where those of an owner are counted */
  finish(sumsOf: (owner: number) => SeenSums): void;
}

/** Blocks of one grain by number, and their samples by position in STEPS, of which more than two are three. */
interface Blocks {
  readonly count: number;
  readonly owner: Uint32Array;
  readonly low: Uint32Array;
  readonly high: Uint32Array;
  readonly samples: Uint8Array;
}

function blocksFor(count: number): Blocks {
  const narrow = () => new Uint32Array(count);
  return { count, owner: narrow(), low: narrow(), high: narrow(), samples: new Uint8Array(STEPS.length * count) };
}

function addSamples(counts: Uint8Array, block: number, step: number, samples: number): void {
  const index = STEPS.length * block + step;
  counts[index] = Math.min(MANY, (counts[index] as number) + samples);
}

function countBlock(counts: Counts | undefined, samples: number): void {
  if (counts === undefined || samples === 0) return;
  counts.distinct += 1;
  if (samples === 1) counts.once += 1;
  if (samples === 2) counts.twice += 1;
}

/** Blocks 2^shift times as large. */
function coarser(fine: Blocks, shift: number): Blocks {
  const numbers = keyNumbers();
  const coarse = blocksFor(fine.count);
  for (let block = 0; block < fine.count; block++) {
    const owner = fine.owner[block] as number;
    const high = fine.high[block] as number;
    const low = (((fine.low[block] as number) >>> shift) | (high << (32 - shift))) >>> 0;
    const number = numbers.find(owner, low, high >>> shift);
    coarse.owner[number] = owner;
    coarse.low[number] = low;
    coarse.high[number] = high >>> shift;
    for (let step = 0; step < STEPS.length; step++) {
      addSamples(coarse.samples, number, step, fine.samples[STEPS.length * block + step] as number);
    }
  }
  return { ...coarse, count: numbers.count };
}

/** @param most pages that there may be, 60 B each and 8 B or more to find them */
export function seenPages(most: number): SeenPages {
  const numbers = keyNumbers(most);
  let words = new Uint32Array(PAGE_WORDS * FIRST_PAGES);
  let pages = blocksFor(0);

  /** Counts the lines of a page, and adds their samples to its own. */
  function countLines(page: number, sums: SeenSums): void {
    const first = PAGE_WORDS * page;
    for (let wordIndex = first; wordIndex < first + STEP_WORDS; wordIndex++) {
      const others = words[wordIndex] as number;
      const prefill = words[wordIndex + STEP_WORDS] as number;
      const decode = words[wordIndex + 2 * STEP_WORDS] as number;
      if ((others | prefill | decode) === 0) continue;
      for (let shift = 0; shift < 32; shift += LINE_BITS) {
        const ofPrefill = (prefill >>> shift) & MANY;
        const ofDecode = (decode >>> shift) & MANY;
        const all = Math.min(MANY, ((others >>> shift) & MANY) + ofPrefill + ofDecode);
        for (let step = 0; step < STEPS.length; step++) {
          const samples = step === 0 ? all : step === 1 ? ofPrefill : ofDecode;
          countBlock(sums[step]?.[0], samples);
          addSamples(pages.samples, page, step, samples);
        }
      }
    }
  }

  function countBlocks(blocks: Blocks, grain: number, sumsOf: (owner: number) => SeenSums): void {
    for (let block = 0; block < blocks.count; block++) {
      const sums = sumsOf(blocks.owner[block] as number);
      for (let step = 0; step < STEPS.length; step++) {
        countBlock(sums[step]?.[grain], blocks.samples[STEPS.length * block + step] as number);
      }
    }
  }

  return {
    add(owner, low, high, step) {
      const pagesBefore = numbers.count;
      const page = numbers.find(owner, ((low >>> PAGE_SHIFT) | (high << (32 - PAGE_SHIFT))) >>> 0, high >>> PAGE_SHIFT);
      if (page === FULL) return false;
      if (page === pagesBefore && PAGE_WORDS * page === words.length) {
        const larger = new Uint32Array(2 * words.length);
        larger.set(words);
        words = larger;
      }
      const line = (low >>> LINE_SHIFT) & (LINES - 1);
      const word = PAGE_WORDS * page + STEP_WORDS * step + (line >>> WORD_SHIFT);
      const shift = LINE_BITS * (line & (LINES_OF_WORD - 1));
      const before = words[word] as number;
      if (((before >>> shift) & MANY) !== MANY) words[word] = before + (1 << shift);
      return true;
    },
    finish(sumsOf) {
      pages = blocksFor(numbers.count);
      numbers.copyKeys(pages.owner, pages.low, pages.high);
      for (let page = 0; page < pages.count; page++) countLines(page, sumsOf(pages.owner[page] as number));
      countBlocks(pages, 1, sumsOf);
      let blocks = pages;
      let before = PAGE_SHIFT;
      for (const [i, shift] of LARGER.entries()) {
        blocks = coarser(blocks, shift - before);
        before = shift;
        countBlocks(blocks, 2 + i, sumsOf);
      }
    },
  };
}

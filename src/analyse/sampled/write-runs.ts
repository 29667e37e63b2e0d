/** Runs of samples of stores to each block of one grain, taken in order of time. */
import { FULL, keyNumbers } from "../../columnar/keys/key-numbers.ts";
import type { StoreRuns } from "../input/input.ts";

/** Chance, per block, that a run whose stores come evenly is taken for over while it goes on. */
export const FALSE_CHANCE = 1e-4;

/** Blocks of one grain as they are counted. */
export interface WrittenSums {
  readonly grain_bytes: number;
  readonly once: RunSums;
  readonly rewritten: RunSums;
  readonly open: RunSums;
}

type RunSums = { -readonly [K in keyof StoreRuns]: StoreRuns[K] };

export function writtenSums(grain_bytes: number): WrittenSums {
  const none = (): RunSums => ({ blocks: 0, runs: 0, samples: 0, runs_of_1: 0, runs_of_2: 0 });
  return { grain_bytes, once: none(), rewritten: none(), open: none() };
}

export interface WriteRuns {
  /**
   * Takes a sample; times must not go back.
   * @param owner whose block it is
   * @param low number of the block, lower 32 bits
   * @param high the upper ones
   * @param time_ns when; every time counts from the same moment
   * @param death_ns when the region died that held the whole block; Infinity where none did
   * @param life number of the life of the cache, 0 for what is in none
   * @returns false where there is no room for another block
   */
  add(owner: number, low: number, high: number, time_ns: number, death_ns: number, life: number): boolean;
  /** Ends the life of every block, after the last sample. */
  finish(): void;
}

/** Words of a block: its owner, the run that goes on, the one before it in the same life, sums of the life. */
const OWNER = 0;
const FIRST_NS = 1;
const LAST_NS = 2;
const SAMPLES = 3;
const BEFORE_FIRST_NS = 4;
const BEFORE_LAST_NS = 5;
const BEFORE_SAMPLES = 6;
const LIFE_RUNS = 7;
const LIFE_SAMPLES = 8;
const RUNS_OF_1 = 9;
const RUNS_OF_2 = 10;
/** The least chance of any pause of the life to lie within one run. */
const CHANCE = 11;
const DEATH_NS = 12;
const LIFE = 13;
const BLOCK_WORDS = 14;
const FIRST_BLOCKS = 1 << 10;

/** Union bound on the spacing of so many stores, evenly over the run and the pause, being as long as the pause. */
function chanceOf(samples: number, length_ns: number, pause_ns: number): number {
  const length = Math.max(length_ns, 1);
  return samples * (length / (length + pause_ns)) ** (samples - 1);
}

/**
 * Samples closer than the gap belong to one epoch: the stores between them are closer still. Samples further apart may
 * belong to one, if no store between them was sampled. So two runs beside each other count as two epochs only where the
 * pause between them fits into neither: n samples of a run that went on through the pause would have a spacing that long
 * with a chance of at most n (length / (length + pause))^(n - 1) (uniform spacings, union bound), and that, times the
 * runs of the block, is small for both. A run of one sample proves nothing.
 * @param gap_ns samples closer than this belong to one run
 * @param most blocks that there may be, 112 B each and 20 B or more to find them
 * @param sumsOf where the blocks of an owner are counted when their life ends
 */
export function writeRuns(gap_ns: number, most: number, sumsOf: (owner: number) => WrittenSums): WriteRuns {
  const numbers = keyNumbers(most);
  let words = new Float64Array(BLOCK_WORDS * FIRST_BLOCKS);

  function endRun(base: number): void {
    const first = words[base + FIRST_NS] as number;
    const last = words[base + LAST_NS] as number;
    const samples = words[base + SAMPLES] as number;
    const before = words[base + BEFORE_SAMPLES] as number;
    if (before > 0) {
      const pause = first - (words[base + BEFORE_LAST_NS] as number);
      const length = (words[base + BEFORE_LAST_NS] as number) - (words[base + BEFORE_FIRST_NS] as number);
      const chance = Math.max(chanceOf(samples, last - first, pause), chanceOf(before, length, pause));
      if (chance < (words[base + CHANCE] as number)) words[base + CHANCE] = chance;
    }
    words[base + LIFE_RUNS] = (words[base + LIFE_RUNS] as number) + 1;
    words[base + LIFE_SAMPLES] = (words[base + LIFE_SAMPLES] as number) + samples;
    if (samples === 1) words[base + RUNS_OF_1] = (words[base + RUNS_OF_1] as number) + 1;
    if (samples === 2) words[base + RUNS_OF_2] = (words[base + RUNS_OF_2] as number) + 1;
    words[base + BEFORE_FIRST_NS] = first;
    words[base + BEFORE_LAST_NS] = last;
    words[base + BEFORE_SAMPLES] = samples;
  }

  function endLife(base: number): void {
    endRun(base);
    const runs = words[base + LIFE_RUNS] as number;
    const isSure = (words[base + CHANCE] as number) * (runs - 1) <= FALSE_CHANCE;
    const seen = runs === 1 ? "once" : isSure ? "rewritten" : "open";
    const sums = sumsOf(words[base + OWNER] as number)[seen];
    sums.blocks += 1;
    sums.runs += runs;
    sums.samples += words[base + LIFE_SAMPLES] as number;
    sums.runs_of_1 += words[base + RUNS_OF_1] as number;
    sums.runs_of_2 += words[base + RUNS_OF_2] as number;
  }

  function beginLife(base: number): void {
    words.fill(0, base + BEFORE_FIRST_NS, base + CHANCE);
    words[base + CHANCE] = Number.POSITIVE_INFINITY;
  }

  function beginRun(base: number, time_ns: number): void {
    words[base + FIRST_NS] = time_ns;
    words[base + SAMPLES] = 0;
  }

  return {
    add(owner, low, high, time_ns, death_ns, life) {
      const blocksBefore = numbers.count;
      const number = numbers.find(owner, low, high);
      if (number === FULL) return false;
      const base = BLOCK_WORDS * number;
      if (number === blocksBefore) {
        if (base === words.length) {
          const larger = new Float64Array(2 * base);
          larger.set(words);
          words = larger;
        }
        words[base + OWNER] = owner;
        beginLife(base);
        beginRun(base, time_ns);
      } else if ((words[base + DEATH_NS] as number) <= time_ns || words[base + LIFE] !== life) {
        endLife(base);
        beginLife(base);
        beginRun(base, time_ns);
      } else if (time_ns - (words[base + LAST_NS] as number) >= gap_ns) {
        endRun(base);
        beginRun(base, time_ns);
      }
      words[base + LAST_NS] = time_ns;
      words[base + SAMPLES] = (words[base + SAMPLES] as number) + 1;
      words[base + DEATH_NS] = death_ns;
      words[base + LIFE] = life;
      return true;
    },
    finish() {
      for (let number = 0; number < numbers.count; number++) endLife(BLOCK_WORDS * number);
    },
  };
}

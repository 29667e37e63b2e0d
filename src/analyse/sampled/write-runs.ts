/** Runs of samples of stores to each block of one grain, taken in order of time. */
import { FULL, keyNumbers } from "../../columnar/key-numbers.ts";
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

  function endRun(at: number): void {
    const first = words[at + FIRST_NS] as number;
    const last = words[at + LAST_NS] as number;
    const samples = words[at + SAMPLES] as number;
    const before = words[at + BEFORE_SAMPLES] as number;
    if (before > 0) {
      const pause = first - (words[at + BEFORE_LAST_NS] as number);
      const length = (words[at + BEFORE_LAST_NS] as number) - (words[at + BEFORE_FIRST_NS] as number);
      const chance = Math.max(chanceOf(samples, last - first, pause), chanceOf(before, length, pause));
      if (chance < (words[at + CHANCE] as number)) words[at + CHANCE] = chance;
    }
    words[at + LIFE_RUNS] = (words[at + LIFE_RUNS] as number) + 1;
    words[at + LIFE_SAMPLES] = (words[at + LIFE_SAMPLES] as number) + samples;
    if (samples === 1) words[at + RUNS_OF_1] = (words[at + RUNS_OF_1] as number) + 1;
    if (samples === 2) words[at + RUNS_OF_2] = (words[at + RUNS_OF_2] as number) + 1;
    words[at + BEFORE_FIRST_NS] = first;
    words[at + BEFORE_LAST_NS] = last;
    words[at + BEFORE_SAMPLES] = samples;
  }

  function endLife(at: number): void {
    endRun(at);
    const runs = words[at + LIFE_RUNS] as number;
    const isSure = (words[at + CHANCE] as number) * (runs - 1) <= FALSE_CHANCE;
    const seen = runs === 1 ? "once" : isSure ? "rewritten" : "open";
    const own = sumsOf(words[at + OWNER] as number)[seen];
    own.blocks += 1;
    own.runs += runs;
    own.samples += words[at + LIFE_SAMPLES] as number;
    own.runs_of_1 += words[at + RUNS_OF_1] as number;
    own.runs_of_2 += words[at + RUNS_OF_2] as number;
  }

  function beginLife(at: number): void {
    words.fill(0, at + BEFORE_FIRST_NS, at + CHANCE);
    words[at + CHANCE] = Number.POSITIVE_INFINITY;
  }

  function beginRun(at: number, time_ns: number): void {
    words[at + FIRST_NS] = time_ns;
    words[at + SAMPLES] = 0;
  }

  return {
    add(owner, low, high, time_ns, death_ns, life) {
      const known = numbers.count;
      const number = numbers.find(owner, low, high);
      if (number === FULL) return false;
      const at = BLOCK_WORDS * number;
      if (number === known) {
        if (at === words.length) {
          const larger = new Float64Array(2 * at);
          larger.set(words);
          words = larger;
        }
        words[at + OWNER] = owner;
        beginLife(at);
        beginRun(at, time_ns);
      } else if ((words[at + DEATH_NS] as number) <= time_ns || words[at + LIFE] !== life) {
        endLife(at);
        beginLife(at);
        beginRun(at, time_ns);
      } else if (time_ns - (words[at + LAST_NS] as number) >= gap_ns) {
        endRun(at);
        beginRun(at, time_ns);
      }
      words[at + LAST_NS] = time_ns;
      words[at + SAMPLES] = (words[at + SAMPLES] as number) + 1;
      words[at + DEATH_NS] = death_ns;
      words[at + LIFE] = life;
      return true;
    },
    finish() {
      for (let number = 0; number < numbers.count; number++) endLife(BLOCK_WORDS * number);
    },
  };
}

/**
 * The memory level in perf's data source word.
 * Layout: union perf_mem_data_src of include/uapi/linux/perf_event.h: mem_lvl is bits 5 to 18 (PERF_MEM_LVL_*, older
 * kernels), mem_lvl_num is bits 33 to 36 (PERF_MEM_LVLNUM_*, since 4.14).
 */
import { wordsOf } from "../../schema/row.ts";

const LEVEL_BITS = 14;
const NUMBERS = 16;

export const CACHE_LEVELS = wordsOf("trace", "cache_level");
type CacheLevel = (typeof CACHE_LEVELS)[number];

const BY_NUMBER: Readonly<Record<number, CacheLevel>> = { 1: "L1", 2: "L2", 3: "L3", 4: "L4", 12: "LFB", 13: "DRAM" };
/** Bits of mem_lvl with their level; the first that is set counts. */
const BY_BIT: readonly (readonly [bit: number, level: CacheLevel])[] = [
  [0x08, "L1"],
  [0x10, "LFB"],
  [0x20, "L2"],
  [0x40, "L3"],
  [0x80, "DRAM"],
  [0x100, "DRAM"],
  [0x200, "DRAM"],
];

/** A function from the word, low half first, to a position in CACHE_LEVELS; the length of the list where it names none. */
export function cacheLevelOf(): (low: number, high: number) => number {
  const position = (level: CacheLevel | undefined): number =>
    level === undefined ? CACHE_LEVELS.length : CACHE_LEVELS.indexOf(level);
  const byNumber = Uint8Array.from({ length: NUMBERS }, (_, number) => position(BY_NUMBER[number]));
  const byFlags = new Uint8Array(2 ** LEVEL_BITS).fill(CACHE_LEVELS.length);
  // The first bit counts, so it is the last to write.
  for (const [bit, level] of BY_BIT.toReversed()) {
    const code = position(level);
    for (let flags = bit; flags < byFlags.length; flags = (flags + 1) | bit) byFlags[flags] = code;
  }
  return (low, high) => {
    const code = byNumber[(high >>> 1) & (NUMBERS - 1)] as number;
    return code < CACHE_LEVELS.length ? code : (byFlags[(low >>> 5) & (byFlags.length - 1)] as number);
  };
}

/** Words that are in memory, where only those are drawn: whether one is, and how many bytes of a stratum are. */
import { PAGE_BYTES } from "../../../../kernel/libc.ts";
import { urgently } from "../../../../kernel/urgent.ts";
import type { Random } from "../../../../statistics/prng.ts";
import { type DrawRegion, drawWord, type Frame } from "../draw.ts";
import type { Residency } from "./residency.ts";

export interface ResidentWords {
  /** Whether a word of a region may be drawn now. */
  has(region: DrawRegion, addr: bigint): boolean;
  /** Bytes of a stratum's words that may be drawn at this moment: an estimate without bias, at least those of one word. */
  bytesOf(stratum: string, frame: Frame): number;
}

/** Pages of a stratum that are asked for at each draw: more of one of which little was in memory at its last draw. */
const PAGES = 16;
const PAGES_OF_SPARSE = 64;
const SPARSE = 1 / 4;
/** Bytes of a word: something was drawn. */
const LEAST_BYTES = 8;

/**
 * The bytes of a frame that may be drawn, by one word at random of each of some equal parts of it, at most one for each page (stratified
 * sampling: Cochran, Sampling Techniques, 3rd edition, 1977, chapter 5), which has no bias.
 */
export function residentBytes(frame: Frame, random: Random, has: ResidentWords["has"], most: number): number {
  const parts = Math.min(most, Math.ceil(frame.bytes / PAGE_BYTES));
  let resident = 0;
  for (let part = 0; part < parts; part++) {
    const word = drawWord(frame, () => (part + random()) / parts, 0);
    if (word !== null && has(word.region, word.addr)) resident += 1;
  }
  return parts === 0 ? 0 : (frame.bytes * resident) / parts;
}

/**
 * Each draw asks anew: what is in memory may come and go at any time, and answers of their own tell by how they differ how far they are off.
 * @param random of its own: what is in memory is chance, and must not decide what a seed draws
 */
export function createResidentWords(residency: Pick<Residency, "isResident">, random: Random): ResidentWords {
  /** Share of each stratum that was in memory at its last draw. */
  const shares = new Map<string, number>();
  const has: ResidentWords["has"] = ({ pid, resident_only }, addr) =>
    resident_only !== true || residency.isResident(pid, addr);
  return {
    has,
    bytesOf(stratum, frame) {
      if (!frame.regions.some(({ resident_only }) => resident_only)) return frame.bytes;
      const pages = (shares.get(stratum) ?? 0) < SPARSE ? PAGES_OF_SPARSE : PAGES;
      const bytes = urgently(() => residentBytes(frame, random, has, pages));
      shares.set(stratum, bytes / frame.bytes);
      return Math.min(frame.bytes, Math.max(bytes, LEAST_BYTES));
    },
  };
}

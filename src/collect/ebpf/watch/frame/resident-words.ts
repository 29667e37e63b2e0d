/** Words that are in memory, where only those are drawn: whether one is, and how many bytes of a stratum are. */
import { monotonicNs, PAGE_BYTES } from "../../../../kernel/libc.ts";
import { urgently } from "../../../../kernel/urgent.ts";
import type { Random } from "../../../../statistics/prng.ts";
import { type DrawRegion, drawWord, type Frame } from "../draw.ts";
import type { Residency } from "./residency.ts";

export interface ResidentWords {
  /** Whether a word of a region may be drawn now. */
  has(region: DrawRegion, addr: bigint): boolean;
  /** Bytes of a stratum's words that may be drawn: an estimate without bias, at least those of one word. */
  bytesOf(stratum: string, frame: Frame): number;
}

/** Pages of a stratum that are asked for at once, and how often. */
const PAGES = 128;
const EVERY_NS = 1_000_000_000n;
/** Answers that count: those of the last 8 seconds. */
const ANSWERS = 8;

/**
 * The bytes of a frame that may be drawn, by one word at random of each of up to 128 equal parts of it (stratified
 * sampling: Cochran, Sampling Techniques, 3rd edition, 1977, chapter 5), which has no bias.
 */
export function residentBytes(frame: Frame, random: Random, has: ResidentWords["has"]): number {
  const parts = Math.min(PAGES, Math.ceil(frame.bytes / PAGE_BYTES));
  let resident = 0;
  for (let part = 0; part < parts; part++) {
    const word = drawWord(frame, () => (part + random()) / parts, 0);
    if (word !== null && has(word.region, word.addr)) resident += 1;
  }
  return parts === 0 ? 0 : (frame.bytes * resident) / parts;
}

/** @param random of its own: what is in memory is chance, and must not decide what a seed draws */
export function createResidentWords(
  residency: Pick<Residency, "isResident">,
  random: Random,
  nowNs = monotonicNs,
): ResidentWords {
  const answers = new Map<string, { readonly bytes: number[]; nextNs: bigint }>();
  const has: ResidentWords["has"] = ({ pid, resident_only }, addr) =>
    resident_only !== true || residency.isResident(pid, addr);
  return {
    has,
    bytesOf(stratum, frame) {
      if (!frame.regions.some(({ resident_only }) => resident_only)) return frame.bytes;
      const answer = answers.get(stratum) ?? { bytes: [], nextNs: 0n };
      answers.set(stratum, answer);
      const now = nowNs();
      if (now >= answer.nextNs) {
        answer.nextNs = now + EVERY_NS;
        answer.bytes.push(urgently(() => residentBytes(frame, random, has)));
        if (answer.bytes.length > ANSWERS) answer.bytes.shift();
      }
      const mean = answer.bytes.reduce((sum, bytes) => sum + bytes, 0) / answer.bytes.length;
      // Where all answers missed what a draw has found, it has less than one part in all that were asked for.
      return Math.min(frame.bytes, Math.max(mean, frame.bytes / (PAGES * answer.bytes.length + 1)));
    },
  };
}

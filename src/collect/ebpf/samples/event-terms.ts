/** Terms of an event, such as event=0xcd,umask=0x1, placed into config words by the PMU's own format. */
import type { Pmu } from "./pmu.ts";

export interface ConfigWords {
  readonly config: bigint;
  readonly config1: bigint;
  readonly config2: bigint;
}

const WORD_BITS = 64;

/** Term names with their values; null where the text is not a list of terms. */
export function parseTerms(text: string): Map<string, bigint> | null {
  const terms = new Map<string, bigint>();
  for (const part of text.trim().split(",")) {
    const match = /^([a-z_][a-z0-9_]{0,63})(?:=(0x[0-9a-f]{1,16}|\d{1,20}))?$/i.exec(part.trim());
    if (!match) return null;
    // A term without a value is a switch that is on.
    terms.set(match[1] ?? "", BigInt(match[2] ?? "1"));
  }
  return terms;
}

interface Place {
  readonly word: keyof ConfigWords;
  /** Bit numbers, the lowest of the value first. */
  readonly bits: readonly number[];
}

/** The place that a format file names, such as config:0-7,32-35; null where it names none. */
export function parsePlace(text: string): Place | null {
  const match = /^(config[12]?):([\d,-]{1,64})$/.exec(text.trim());
  if (!match) return null;
  const bits: number[] = [];
  for (const part of (match[2] ?? "").split(",")) {
    const range = /^(\d{1,2})(?:-(\d{1,2}))?$/.exec(part);
    if (!range) return null;
    const last = Number(range[2] ?? range[1]);
    for (let bit = Number(range[1]); bit <= last; bit++) bits.push(bit);
  }
  return bits.length === 0 || bits.some((bit) => bit >= WORD_BITS) ? null : { word: match[1] as Place["word"], bits };
}

/** The config words of some terms; null where the PMU has no place for one, or its value is too large for the place. */
export function placeTerms(pmu: Pmu, terms: ReadonlyMap<string, bigint>): ConfigWords | null {
  const words = { config: 0n, config1: 0n, config2: 0n };
  for (const [name, value] of terms) {
    const place = parsePlace(pmu.formats.get(name) ?? "");
    if (place === null || value >> BigInt(place.bits.length) !== 0n) return null;
    for (const [i, bit] of place.bits.entries()) {
      if ((value >> BigInt(i)) & 1n) words[place.word] |= 1n << BigInt(bit);
    }
  }
  return words;
}

/** What --ebpf asks for beside mappings, and what is left of --source by it. */
import { EBPF_PARTS } from "../../config/schema.ts";
import { type WatchedWord, watchedWord } from "../../config/watched-word.ts";

export interface AskedParts {
  readonly faults: boolean;
  readonly engine: boolean;
  /** Which pages are in memory. */
  readonly residency: boolean;
  /** Accesses to bytes that are drawn at random, or that samples hit. */
  readonly accesses: boolean;
  /** Words that are watched all the time, in place of drawn ones. */
  readonly words: readonly WatchedWord[];
}

/** @param names checked names of --ebpf; all parts unless told */
export function askedParts(names: readonly string[] = EBPF_PARTS): AskedParts {
  const words = names.map(watchedWord).filter((word) => word !== null);
  const has = (part: (typeof EBPF_PARTS)[number]): boolean => names.includes(part);
  return {
    faults: has("faults"),
    engine: has("engine"),
    residency: has("residency"),
    accesses: has("accesses") && words.length === 0,
    words,
  };
}

/** Names of --source that are left: without accesses none, for named words their watches. */
export function sourcesLeft({ accesses, words }: AskedParts, sources: readonly string[]): readonly string[] {
  if (words.length > 0) return ["watch"];
  return accesses ? sources : [];
}

/** Why the rest is not known, where something was left out; null where nothing was. */
export function leftOut({ words, ...asked }: AskedParts): string | null {
  if (EBPF_PARTS.every((part) => asked[part])) return null;
  const kept = EBPF_PARTS.filter((part) => asked[part]);
  const named = words.length > 0 ? [`${words.length} named ${words.length === 1 ? "word" : "words"}`] : [];
  return `--ebpf recorded ${["mappings", ...kept, ...named].join(", ")} alone`;
}

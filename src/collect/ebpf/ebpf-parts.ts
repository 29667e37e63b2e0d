/** What the eBPF collector records beside mappings, and what it therefore cannot tell. */
import { EBPF_PARTS } from "../../config/schema.ts";
import { type WatchedWord, watchedWord } from "../../config/watched-word.ts";
import type { Capability } from "../collector.ts";

export interface EbpfParts {
  readonly faults: boolean;
  readonly engine: boolean;
  /** Accesses to bytes that are drawn at random, or that samples hit. */
  readonly accesses: boolean;
  /** Words that are watched all the time, in place of drawn ones. */
  readonly words: readonly WatchedWord[];
}

/** @param names checked names of --ebpf; all parts unless told */
export function ebpfParts(names: readonly string[] = EBPF_PARTS): EbpfParts {
  const words = names.map(watchedWord).filter((word) => word !== null);
  const has = (part: (typeof EBPF_PARTS)[number]): boolean => names.includes(part);
  return { faults: has("faults"), engine: has("engine"), accesses: has("accesses") && words.length === 0, words };
}

/** Names of --source that are left: without accesses none, for named words their watches. */
export function sourcesLeft({ accesses, words }: EbpfParts, sources: readonly string[]): readonly string[] {
  if (words.length > 0) return ["watch"];
  return accesses ? sources : [];
}

/** What the collector can tell, without what it was told to leave out. */
export function sightLeft({ faults, engine, accesses, words }: EbpfParts, can: Capability): Capability {
  if (!can.ok || (faults && engine && accesses)) return can;
  const kept = [...(faults ? ["faults"] : []), ...(engine ? ["engine"] : []), ...(accesses ? ["accesses"] : [])];
  const named = words.length > 0 ? [`${words.length} named ${words.length === 1 ? "word" : "words"}`] : [];
  return {
    ...can,
    identifies: can.identifies.filter((source) => engine || source !== "step"),
    blindTo: `--ebpf recorded ${["mappings", ...kept, ...named].join(", ")} alone`,
  };
}

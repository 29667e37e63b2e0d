/** A word that is watched because it was named: `mem:0xADDRESS/8:rw`, as perf writes it. */

export interface WatchedWord {
  /** Aligned to `sizeBytes`. */
  readonly addr: bigint;
  readonly sizeBytes: number;
  readonly mode: "w" | "rw";
}

/** Debug registers of a CPU. */
export const MOST_WATCHED_WORDS = 4;

const WORD = /^mem:0x([0-9a-f]{1,16})\/([1248]):(w|rw)$/i;

/** The word that a text names; null where it names none, or one that no register can hold. */
export function watchedWord(text: string): WatchedWord | null {
  const [, hex, size, mode] = WORD.exec(text) ?? [];
  if (hex === undefined || size === undefined) return null;
  const addr = BigInt(`0x${hex}`);
  const sizeBytes = Number(size);
  // Addresses of programs are the lower half.
  if (addr % BigInt(sizeBytes) !== 0n || addr >= 1n << 63n) return null;
  return { addr, sizeBytes, mode: mode?.toLowerCase() === "w" ? "w" : "rw" };
}

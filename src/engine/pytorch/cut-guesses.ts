/**
 * Whether passes check what was guessed, by what becomes of their rows: a token is drawn from each row of such a pass, and the rows of
 * guesses that were not taken are cut off the cache before the next pass. Where all were taken the next check follows with no pass of one
 * token between. So it is whatever guessed them, also without a model of its own.
 */
import type { CacheAppend } from "./cache-append.ts";

/** What a pass puts behind one part of a cache. */
export type PutRows = Pick<CacheAppend, "before" | "count"> & {
  readonly into: { readonly rows: number; readonly storage: { readonly structure: bigint } };
};

export interface CutGuesses {
  /**
   * The first rows that a pass puts behind what may be a cache.
   * @param isDrawn whether a token was drawn from the pass, asked when the next one comes
   * @returns true once it is known that passes check guesses
   */
  put(rows: PutRows, isDrawn: () => boolean): boolean;
}

/** Rows that a pass left behind it. */
interface Left {
  readonly rows: number;
  readonly count: number;
  /** It put them behind others. */
  readonly isBehind: boolean;
  readonly isDrawn: () => boolean;
}

/** So many checks in a row: a program may cut a prompt once, as behind what two have alike, or ask for one token of a text that goes on. */
const CHECKS = 3;
/** Caches of a thread whose last pass is remembered. */
const CACHES = 64;

/** None seen yet. */
export function cutGuesses(): CutGuesses {
  /** By the structure of the storage. */
  const left = new Map<bigint, Left>();
  let checks = 0;

  /** @param kept rows of it that the next pass finds @param next how many that one puts behind them */
  function judge({ rows, count, isBehind, isDrawn }: Left, kept: number, next: number): void {
    const cut = rows - kept;
    if (count < 2) return;
    const isInMidst = cut > 0 && cut < count;
    // A prompt that goes on where the cache ends stays whole too, and one token after another comes behind it.
    const isWhole = cut === 0 && isBehind && next > 1;
    if (isDrawn() && (isInMidst || isWhole)) checks += 1;
    else if (isBehind) checks = 0;
  }

  return {
    put({ before, into, count }, isDrawn) {
      const last = before === null ? undefined : left.get(before.structure);
      if (before !== null && last !== undefined) {
        left.delete(before.structure);
        // It may begin with a window of what was left.
        if (checks < CHECKS) judge(last, before.from + before.rows, count);
      }
      if (left.size >= CACHES) left.clear();
      left.set(into.storage.structure, { rows: into.rows, count, isBehind: before !== null, isDrawn });
      return checks >= CHECKS;
    },
  };
}

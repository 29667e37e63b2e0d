/** The known word that a misspelt one probably means. */

/** More changed letters than this make another word; two letters that were swapped are two changes. */
const MOST_CHANGES = 3;
const FEWEST_CHANGES = 2;

/** The word with the fewest letters changed, the first of equals; null where none is near. Case does not count. */
export function nearestWord(asked: string, words: Iterable<string>): string | null {
  let best: { word: string; changes: number } | null = null;
  // With more than half of its letters changed a short word is near to any other.
  const most = Math.min(MOST_CHANGES, Math.max(FEWEST_CHANGES, Math.floor(asked.length / 2)), asked.length - 1);
  for (const word of words) {
    const changes = changesBetween(asked.toLowerCase(), word.toLowerCase());
    if (changes <= most && (best === null || changes < best.changes)) best = { word, changes };
  }
  return best?.word ?? null;
}

/** Levenshtein's distance: letters to insert, remove or replace. */
function changesBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The known word that a misspelt one probably means. */

/** More changed letters than this make another word; two neighbours that were swapped are one change. */
const MOST_CHANGES = 3;

/** The word with the fewest letters changed, the first of equals; null where none is near. Case does not count. */
export function nearestWord(asked: string, words: Iterable<string>): string | null {
  let best: { word: string; changes: number } | null = null;
  // With more than half of its letters changed a short word is near to any other.
  const most = Math.min(MOST_CHANGES, Math.floor(asked.length / 2));
  for (const word of words) {
    const changes = changesBetween(asked.toLowerCase(), word.toLowerCase());
    if (changes <= most && (best === null || changes < best.changes)) best = { word, changes };
  }
  return best?.word ?? null;
}

/** Distance of optimal string alignment: letters to insert, remove or replace, and neighbours to swap. */
function changesBetween(a: string, b: string): number {
  let before: readonly number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}

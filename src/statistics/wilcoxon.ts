/** The signed-rank test: whether differences lie around zero, by their order alone. */

/** Twice the midrank of every size, so that ties stay whole numbers. */
function doubledRanks(sizes: readonly number[]): number[] {
  const sorted = [...sizes].sort((a, b) => a - b);
  const rankOf = new Map<number, number>();
  for (let first = 0; first < sorted.length; ) {
    const size = sorted[first] ?? 0;
    const last = sorted.lastIndexOf(size);
    rankOf.set(size, first + last + 2);
    first = last + 1;
  }
  return sizes.map((size) => rankOf.get(size) ?? 0);
}

/**
 * Two-sided p of the signed-rank test (Wilcoxon 1945), exact also with ties: all signs are equally likely.
 * @param differences zeros are left out, as Wilcoxon did; at most some hundreds
 * @returns 1 where no difference is left
 */
export function signedRankP(differences: readonly number[]): number {
  const values = differences.filter((value) => value !== 0);
  const ranks = doubledRanks(values.map(Math.abs));
  const total = ranks.reduce((sum, rank) => sum + rank, 0);
  const positive = ranks.reduce((sum, rank, i) => sum + ((values[i] ?? 0) > 0 ? rank : 0), 0);
  // Share of all choices of signs whose positive ranks have each sum.
  let shares = new Float64Array(total + 1);
  shares[0] = 1;
  for (const rank of ranks) {
    const next = new Float64Array(total + 1);
    for (let sum = 0; sum <= total; sum++) {
      next[sum] = ((shares[sum] ?? 0) + (sum >= rank ? (shares[sum - rank] ?? 0) : 0)) / 2;
    }
    shares = next;
  }
  const extreme = Math.min(positive, total - positive);
  let tail = 0;
  for (let sum = 0; sum <= extreme; sum++) tail += shares[sum] ?? 0;
  return Math.min(1, 2 * tail);
}

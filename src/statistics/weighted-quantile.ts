/** Quantiles of weighted values that are all known. */

/**
 * The least value at which the weight up to it reaches the share q; of times cut short it is a sure lower bound of the
 * quantile of the whole times.
 * @returns null without weight
 */
export function observedQuantile(values: readonly number[], weights: readonly number[], q: number): number | null {
  const order = [...values.keys()].sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
  let total = 0;
  for (const w of weights) total += w;
  if (!(total > 0)) return null;
  let sum = 0;
  for (const i of order) {
    sum += weights[i] ?? 0;
    if (sum >= q * total * (1 - 1e-12)) return values[i] ?? null;
  }
  return values[order[order.length - 1] ?? 0] ?? null;
}

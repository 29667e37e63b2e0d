/** Quantiles of weighted values that are all known. */

/**
 * The least value at which the weight up to it reaches the share q; of times cut short it is a sure lower bound of the
 * quantile of the whole times.
 * @returns null without weight
 */
export function observedQuantile(values: readonly number[], weights: readonly number[], q: number): number | null {
  const order = [...values.keys()].sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
  return quantileInOrder(
    order.map((i) => values[i] ?? 0),
    order.map((i) => weights[i] ?? 0),
    q,
  );
}

/** The same of values that ascend. */
export function quantileInOrder(values: ArrayLike<number>, weights: ArrayLike<number>, q: number): number | null {
  let total = 0;
  for (let i = 0; i < weights.length; i++) total += weights[i] as number;
  if (!(total > 0)) return null;
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    sum += weights[i] as number;
    if (sum >= q * total * (1 - 1e-12)) return values[i] as number;
  }
  return values[values.length - 1] ?? null;
}

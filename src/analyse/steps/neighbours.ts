/** Steps put together with those beside them, where they are too many to draw from one by one. */

/** Units that are drawn from: a bootstrap holds two bytes for each of them and each of 199 draws. */
const MOST_UNITS = 20_000;

/**
 * Sums of as many neighbours as leave `most` values at most; the values themselves where there are no more. Steps that follow
 * each other are alike, so that an interval over such sums is no narrower than one over steps.
 */
export function sumsOfNeighbours(values: Float64Array, most = MOST_UNITS): Float64Array {
  if (values.length <= most) return values;
  const each = Math.ceil(values.length / most);
  const sums = new Float64Array(Math.ceil(values.length / each));
  for (let i = 0; i < values.length; i++) {
    const place = Math.floor(i / each);
    sums[place] = (sums[place] as number) + (values[i] as number);
  }
  return sums;
}

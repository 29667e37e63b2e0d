/** How many units carry a sum: where they are few, its spread is told by few, and the next one may carry as much. */

/**
 * (sum x^2)^3 / (sum x^3)^2: of m units that count alike it is m, whatever smaller ones there are beside them. Where a tail is
 * long it is small, as the skewness of the sum is one over its root.
 * @param parts of the units in the sum, zero or more
 */
export function carryingUnits(parts: ArrayLike<number>): number {
  let largest = 0;
  for (let i = 0; i < parts.length; i++) largest = Math.max(largest, parts[i] ?? 0);
  if (!(largest > 0)) return 0;
  let squares = 0;
  let cubes = 0;
  for (let i = 0; i < parts.length; i++) {
    const part = (parts[i] ?? 0) / largest;
    squares += part ** 2;
    cubes += part ** 3;
  }
  return squares ** 3 / cubes ** 2;
}

/** Binary search, for all that is no hot loop. */

/**
 * Index of the first of some ordered things that does not lie before what is looked for; `length` where all do.
 * @param liesBefore true for an index from 0 on, and false from some index to the end
 */
export function firstIndex(length: number, liesBefore: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (liesBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

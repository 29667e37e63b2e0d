/** Binary search. */

/**
 * For all that is no hot loop: index of the first of some ordered things that does not lie before what is looked for; `length` where all do.
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

/** How many numbers in order are less than another: it makes no object, for loops over hundreds of thousands. */
export function countBelow(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The same of those that are not greater. */
export function countUpTo(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

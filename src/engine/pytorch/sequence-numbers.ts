/** Numbers of sequences among all of a process, whichever of its caches has them. */

/** Takes so many numbers. @returns the first of them */
export type TakeSequences = (count: number) => number;

/** From 0 on. */
export function sequenceNumbers(): TakeSequences {
  let next = 0;
  return (count) => {
    const first = next;
    next += count;
    return first;
  };
}

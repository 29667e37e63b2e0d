/** Collecting in time what is used no longer: typed arrays lie outside of the heap, which grows long before it looks. */

const MUCH_ROWS = 1 << 18;

/** Collects what is used no longer where an array of so many rows is about to be made, or was just given up. */
export function collectAround(rows: number): void {
  if (rows >= MUCH_ROWS) Bun.gc(true);
}

/** Tells how much was made, in any unit; each time that `amount` was, what is used no longer is collected. */
export function collectAfter(amount: number): (made: number) => void {
  let sum = 0;
  return (made) => {
    sum += made;
    if (sum < amount) return;
    sum = 0;
    Bun.gc(true);
  };
}

/**
 * Tells that work was done: where the process holds so many bytes more than it did at least since the last time, what is used no longer is
 * collected. For work that leaves behind more or less, by what it is about.
 * @param amount of work, in any unit, from one look at what the process holds to the next: a look takes 20 us
 */
export function collectGrown(bytes: number, amount = 1): (done?: number) => void {
  let least = Number.POSITIVE_INFINITY;
  let sum = 0;
  return (done = 1) => {
    sum += done;
    if (sum < amount) return;
    sum = 0;
    const now = process.memoryUsage.rss();
    if (now <= least + bytes) {
      least = Math.min(least, now);
      return;
    }
    Bun.gc(true);
    least = process.memoryUsage.rss();
  };
}

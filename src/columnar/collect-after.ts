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

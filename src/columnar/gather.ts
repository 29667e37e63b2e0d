/** How long rare rows wait to become a batch: it costs the same for one row as for hundreds. */

/** The longest that a row waits, in ns. */
export const GATHER_NS = 250_000_000n;
/** So many rows wait for no time. */
export const GATHER_ROWS = 1024;

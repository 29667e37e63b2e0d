/** How much is read before a search is given up: hostile data cannot make it longer, however its parts refer to each other. */
export interface Patience {
  /** Bytes of units. */
  bytes: number;
  /** Entries, their attributes, and abbreviations. */
  steps: number;
}

/** Enough for what is searched in 128 MiB of units: less than a second. */
export const newPatience = (): Patience => ({ bytes: 128 << 20, steps: 20_000_000 });

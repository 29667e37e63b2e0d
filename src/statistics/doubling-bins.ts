/** Bins of a quarter of a doubling, for sizes and times that are told to a fifth of their own. */

const BINS_BY_DOUBLING = 4;

/** Number of the bin in which a value lies; that of 1 for what is less. */
export const binOf = (value: number): number => Math.floor(BINS_BY_DOUBLING * Math.log2(Math.max(1, value)));

/** The end of a bin: its values are less. */
export const endOf = (bin: number): number => 2 ** ((bin + 1) / BINS_BY_DOUBLING);

/** What a decoder throws at bytes that it cannot read, apart from what is a mistake of the decoder itself. */

/** Nobody writes more in a column of a row group, packed or not; a few hostile bytes can claim any size. */
export const LARGEST_COLUMN_BYTES = 2 ** 28;

/** Bytes that claim more than anybody writes: a reader that knows every encoding would take the memory for it. */
export class TooLarge extends Error {}

/**
 * Returns for the error of bytes that are broken, or that only another reader knows.
 * @throws the error itself where no bytes can be at fault
 */
export function assertRefusal(error: unknown): void {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof ReferenceError) throw error;
}

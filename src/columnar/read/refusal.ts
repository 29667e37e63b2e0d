/** What a decoder throws at bytes that it cannot read, apart from what is a mistake of the decoder itself. */

/**
 * Returns for the error of bytes that are broken, or that only another reader knows.
 * @throws the error itself where no bytes can be at fault
 */
export function assertRefusal(error: unknown): void {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof ReferenceError) throw error;
}

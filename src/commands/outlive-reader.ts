/** Notices that nobody reads any more, as behind `2>&1 | head -1`, end no recording. */

/** From here on what cannot be written to the stream is nobody's: there is no place left to tell it. */
export function outliveReader(stream: NodeJS.WriteStream): void {
  stream.on("error", () => {});
}

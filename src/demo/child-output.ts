/** What a process of another user writes to us, of which only so much is kept: it may write without end. */

/** The first bytes of a stream as text; the rest is read and dropped, so that the writer does not wait. */
export async function firstText(stream: ReadableStream<Uint8Array>, most_bytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let left = most_bytes;
  for await (const chunk of stream) {
    if (left > 0) text += decoder.decode(chunk.subarray(0, left), { stream: true });
    left -= chunk.length;
  }
  return text;
}

/** Hands each line on as it comes, of a longer one its first characters; returns the last. */
export async function eachLine(
  stream: ReadableStream<Uint8Array>,
  most_characters: number,
  notice: ((line: string) => void) | undefined,
): Promise<string> {
  const decoder = new TextDecoder();
  let rest = "";
  let last = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = (lines.pop() ?? "").slice(0, most_characters);
    for (const line of lines) {
      last = line.slice(0, most_characters);
      notice?.(last);
    }
  }
  return rest || last;
}

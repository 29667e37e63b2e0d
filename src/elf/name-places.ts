/** Where names lie in a table of texts that end by a NUL each. */
import type { ByteView } from "./byte-view.ts";

const WINDOW_BYTES = 1 << 20;
/** No table has a name more often, unless it is made to be searched for long. */
const MOST_PLACES = 1 << 16;

/** By their offset in the table that begins at `start`; the end of a longer text is a name too. */
export function namePlaces(
  view: ByteView,
  start: number,
  sizeBytes: number,
  names: readonly string[],
): Map<number, string> {
  const wanted = names.map((name) => [name, Buffer.from(`${name}\0`, "latin1")] as const);
  const overlap = Math.max(0, ...wanted.map(([, bytes]) => bytes.length));
  const places = new Map<number, string>();
  for (let from = 0; from < sizeBytes && places.size < MOST_PLACES; from += WINDOW_BYTES) {
    const bytes = view.bytes(start + from, Math.min(WINDOW_BYTES + overlap, sizeBytes - from));
    if (bytes === null) break;
    const window = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    for (const [name, text] of wanted) {
      for (let i = window.indexOf(text); i >= 0; i = window.indexOf(text, i + 1)) places.set(from + i, name);
    }
  }
  return places;
}

/** Where names lie in a table of texts that end by a NUL each. */
import type { ByteView } from "./byte-view.ts";

const WINDOW_BYTES = 1 << 20;
/** No table has a name more often, unless it is made to be searched for long. */
const MOST_PLACES = 1 << 16;

/** A name as it stands in a table, and its bytes there. */
type Wanted = readonly [name: string, text: Buffer];

/** Begins of names that are looked for before the names are: most tables have none of the names, and few of their begins. */
const BEGIN_BYTES = 6;

/** Those of which the begin, and a begin twice as long, and so on, lies somewhere in the window. */
function mayBeIn(window: Buffer, wanted: readonly Wanted[], beginBytes = BEGIN_BYTES): readonly Wanted[] {
  if (wanted.length < 2) return wanted;
  const groups = Map.groupBy(wanted, ([, text]) => text.toString("latin1", 0, beginBytes));
  return [...groups].flatMap(([begin, group]) => {
    if (group.length === 1 || group.every(([, { length }]) => length <= beginBytes)) return group;
    return window.indexOf(begin, 0, "latin1") < 0 ? [] : mayBeIn(window, group, 2 * beginBytes);
  });
}

/** By their offset in the table that begins at `start`; the end of a longer text is a name too. */
export function namePlaces(
  view: ByteView,
  start: number,
  sizeBytes: number,
  names: readonly string[],
): Map<number, string> {
  const wanted = [...new Set(names)].map((name): Wanted => [name, Buffer.from(`${name}\0`, "latin1")]);
  const overlap = Math.max(0, ...wanted.map(([, bytes]) => bytes.length));
  const places = new Map<number, string>();
  for (let from = 0; from < sizeBytes && places.size < MOST_PLACES; from += WINDOW_BYTES) {
    const bytes = view.bytes(start + from, Math.min(WINDOW_BYTES + overlap, sizeBytes - from));
    if (bytes === null) break;
    const window = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    for (const [name, text] of mayBeIn(window, wanted)) {
      for (let i = window.indexOf(text); i >= 0; i = window.indexOf(text, i + 1)) places.set(from + i, name);
    }
  }
  return places;
}

/** Functions by the whole table of symbols (.symtab): what a program has that exports nothing, until it is stripped. */
import type { ByteView } from "./byte-view.ts";
import { type DynamicSymbol, ENTRY_BYTES, symbolEntry } from "./dynamic-symbols.ts";
import { namePlaces } from "./name-places.ts";
import { SECTION, type Section } from "./sections.ts";
import type { Segment } from "./segments.ts";

/** Tables beyond this are left alone: those of the largest programs are some 50 MiB. */
const MOST_BYTES = 128 << 20;
const WINDOW_BYTES = 1 << 20;

/** The defined functions of these names; none where the file has no such table, or one that is too large. */
export function localFunctions(
  view: ByteView,
  segments: readonly Segment[],
  sections: readonly Section[],
  names: readonly string[],
): ReadonlyMap<string, DynamicSymbol> {
  const found = new Map<string, DynamicSymbol>();
  const table = sections.find(({ type }) => type === SECTION.symtab);
  const strings = sections[table?.link ?? -1];
  if (table === undefined || strings === undefined) return found;
  if (table.sizeBytes > MOST_BYTES || strings.sizeBytes > MOST_BYTES) return found;
  const places = namePlaces(view, strings.offset, strings.sizeBytes, names);
  if (places.size === 0) return found;
  const windowBytes = WINDOW_BYTES - (WINDOW_BYTES % ENTRY_BYTES);
  for (let from = 0; from < table.sizeBytes; from += windowBytes) {
    const bytes = view.bytes(table.offset + from, Math.min(windowBytes, table.sizeBytes - from));
    if (bytes === null) break;
    const entries = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let i = 0; i + ENTRY_BYTES <= bytes.length; i += ENTRY_BYTES) {
      const name = places.get(entries.getUint32(i, true));
      if (name === undefined || found.has(name)) continue;
      const entry = symbolEntry(entries, i, segments);
      if (entry?.symbol.type === "function") found.set(name, { name, ...entry.symbol });
    }
  }
  return found;
}

/** Functions of Go by the table that its runtime keeps (.gopclntab): their names stay where all symbols are stripped. */
import type { ByteView } from "./byte-view.ts";
import { relocatedWords } from "./relocated-words.ts";
import type { Section } from "./sections.ts";
import type { Segment } from "./segments.ts";

export interface GoFunction {
  readonly name: string;
  readonly vaddr: number;
  /** The begin of the next function. */
  readonly end: number;
}

/** Of Go 1.20 and later; both tables have `.data.rel.ro` before their names in programs that may lie anywhere. */
const MAGIC = 0xfffffff1;
const HEADER = { functions: 8, text: 24, names: 32, units: 40, table: 64 } as const;
/** In `runtime.moduledata` of Go 1.26, which has the beginning of the text that older tables have in their header. */
const MODULE_TEXT = 176;
const [ENTRY_BYTES, NAME_AT] = [8, 4];
const MOST_FUNCTIONS = 1 << 20;
const MOST_NAME_BYTES = 64 << 20;

/** Where wanted names lie, by their offset: all that end with one of `ends`. */
function placesOf(names: Uint8Array, ends: readonly string[]): Map<number, string> {
  const text = Buffer.from(names.buffer, names.byteOffset, names.length);
  const places = new Map<number, string>();
  for (const end of ends) {
    const wanted = Buffer.from(`${end}\0`, "latin1");
    for (let i = text.indexOf(wanted); i >= 0; i = text.indexOf(wanted, i + 1)) {
      const begin = text.lastIndexOf(0, i - 1) + 1;
      places.set(i === 0 ? 0 : begin, text.toString("latin1", i === 0 ? 0 : begin, i + end.length));
    }
  }
  return places;
}

/**
 * The functions whose names end with one of these; none where the file is of no Go since 1.20.
 * Format: `runtime/symtab.go` of Go's source (pcHeader, functab, _func).
 */
export function goFunctions(
  view: ByteView,
  segments: readonly Segment[],
  sections: readonly Section[],
  ends: readonly string[],
): GoFunction[] {
  const table = sections.find(({ name }) => name.endsWith(".gopclntab"));
  if (table === undefined || view.u32(table.offset) !== MAGIC || view.u8(table.offset + 7) !== 8) return [];
  const field = (place: number): number => view.u64(table.offset + place) ?? 0;
  const [count, nameTable, units] = [field(HEADER.functions), field(HEADER.names), field(HEADER.units)];
  const functions = table.offset + field(HEADER.table);
  if (count > MOST_FUNCTIONS || units < nameTable || units - nameTable > MOST_NAME_BYTES) return [];
  const names = view.bytes(table.offset + nameTable, units - nameTable);
  if (names === null) return [];
  const places = placesOf(names, ends);
  const moduleAt = sections.find(({ name }) => name.endsWith(".go.module"));
  const textAt = moduleAt === undefined ? table.vaddr + HEADER.text : moduleAt.vaddr + MODULE_TEXT;
  const text = places.size === 0 ? undefined : relocatedWords(view, segments, sections, [textAt]).get(textAt);
  if (text === undefined) return [];
  const found: GoFunction[] = [];
  for (let i = 0; i < count; i++) {
    const entry = functions + i * ENTRY_BYTES;
    const [begin, info, end] = [view.u32(entry), view.u32(entry + 4), view.u32(entry + ENTRY_BYTES)];
    if (begin === null || info === null || end === null) break;
    const name = places.get(view.u32(functions + info + NAME_AT) ?? -1);
    if (name !== undefined) found.push({ name, vaddr: text + begin, end: text + end });
  }
  return found;
}

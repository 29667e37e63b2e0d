/** What a program of Go says of its own build: the module that it is, and its version. It stays in a stripped program. */
import type { ByteView } from "./byte-view.ts";
import type { Section } from "./sections.ts";

export interface GoBuild {
  readonly module: string;
  /** As the module's tag; null where it was built from a folder without one. */
  readonly version: string | null;
}

const MAGIC = "\xff Go buildinf:";
/** Strings lie behind a header of this length, not behind pointers: Go 1.18 and later. */
const [FLAGS_AT, INLINE, STRINGS_AT] = [15, 2, 32];
const MOST_BYTES = 1 << 20;
const NAME = /^[\x21-\x7e]{1,200}$/;

/** The string at a place, with the place behind it; null where it does not fit. Its length comes first, in groups of 7 bits. */
function stringAt(bytes: Uint8Array, from: number): readonly [text: string, next: number] | null {
  let length = 0;
  let place = from;
  for (let shift = 0; shift <= 21; shift += 7) {
    const byte = bytes[place++];
    if (byte === undefined) return null;
    length |= (byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    const end = place + length;
    return end > bytes.length ? null : [Buffer.from(bytes.subarray(place, end)).toString("latin1"), end];
  }
  return null;
}

/**
 * Null where the file is of no Go, or of a version before 1.18.
 * Format: `debug/buildinfo` of Go's library.
 */
export function readGoBuild(view: ByteView, sections: () => readonly Section[]): GoBuild | null {
  const section = sections().find(({ name }) => name === ".go.buildinfo");
  if (section === undefined || section.sizeBytes > MOST_BYTES) return null;
  const bytes = view.bytes(section.offset, section.sizeBytes);
  if (bytes === null || Buffer.from(bytes.subarray(0, MAGIC.length)).toString("latin1") !== MAGIC) return null;
  if (((bytes[FLAGS_AT] ?? 0) & INLINE) === 0) return null;
  const [, next] = stringAt(bytes, STRINGS_AT) ?? [];
  const [facts] = (next === undefined ? null : stringAt(bytes, next)) ?? [];
  const [, module = "", said = ""] = /(?:^|\n)mod\t([^\t\n]*)\t([^\t\n]*)/.exec(facts ?? "") ?? [];
  if (!NAME.test(module)) return null;
  return { module, version: NAME.test(said) && said !== "(devel)" ? said : null };
}

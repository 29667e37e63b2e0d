/** The sections of debugging data that say how structures are laid out, unpacked where they are compressed. */
import { inflateSync, zstdDecompressSync } from "node:zlib";
import { type ByteView, bytesInMemory, byteView } from "../byte-view.ts";
import { SECTION, type Section } from "../sections.ts";

export interface DebugSections {
  readonly info: ByteView;
  readonly abbreviations: ByteView;
  readonly strings: ByteView;
  readonly stringOffsets: ByteView;
}

export type FoundSections =
  | ({ readonly ok: true } & DebugSections)
  | { readonly ok: false; readonly hasNone: boolean; readonly reason: string };

/** SHF_COMPRESSED of sh_flags, the bytes of Elf64_Chdr, and its types. */
const COMPRESSED = 0x800;
const HEADER_BYTES = 24;
const ZLIB = 1;
const ZSTD = 2;
/** Compressed sections are unpacked as a whole, into this much memory at most, all together. */
const MOST_UNPACKED_BYTES = 128 << 20;

const EMPTY = byteView(bytesInMemory(new Uint8Array(0)));

/** The bytes of a section in its file. */
function part(view: ByteView, { offset, sizeBytes }: Section): ByteView {
  return byteView({
    length: Math.max(0, Math.min(sizeBytes, view.length - offset)),
    slice: (from, size) => view.bytes(offset + from, Math.min(size, sizeBytes - from)) ?? new Uint8Array(0),
  });
}

/** What a compressed section holds, or why it is not unpacked. */
function unpacked(section: Section, packed: ByteView, roomBytes: number): ByteView | string {
  const form = packed.u32(0);
  const size = packed.u64(8) ?? 0;
  if (form !== ZLIB && form !== ZSTD) return `${section.name} is compressed in a form that is not known`;
  // What takes more room packed than unpacked is no such section, and is not read either.
  if (size > roomBytes || packed.length > MOST_UNPACKED_BYTES)
    return `with ${section.name} it unpacks to more than ${MOST_UNPACKED_BYTES >> 20} MiB`;
  const bytes = packed.bytes(HEADER_BYTES, packed.length - HEADER_BYTES);
  try {
    const options = { maxOutputLength: size };
    const plain = bytes && (form === ZLIB ? inflateSync(bytes, options) : zstdDecompressSync(bytes, options));
    if (plain?.length === size) return byteView(bytesInMemory(plain));
  } catch {
    // What does not unpack is damaged, or is no such data: both are said below.
  }
  return `${section.name} does not unpack to the ${size} bytes that its header says`;
}

/** Finds them by their names. A section that is not there is empty, but the two without which nothing is told. */
export function debugSections(view: ByteView, sections: readonly Section[]): FoundSections {
  let refused: string | null = null;
  let roomBytes = MOST_UNPACKED_BYTES;
  const find = (name: string): ByteView | null => {
    const section = sections.find((one) => one.name === name && one.type !== SECTION.nobits);
    if (section === undefined || refused !== null) return null;
    const bytes = part(view, section);
    if ((section.flags & COMPRESSED) === 0) return bytes;
    const plain = unpacked(section, bytes, roomBytes);
    if (typeof plain !== "string") {
      roomBytes -= plain.length;
      return plain;
    }
    refused = plain;
    return null;
  };
  const info = find(".debug_info");
  const abbreviations = find(".debug_abbrev");
  if (refused === null && (info === null || abbreviations === null))
    return { ok: false, hasNone: true, reason: "it has no debugging data" };
  const strings = find(".debug_str") ?? EMPTY;
  const stringOffsets = find(".debug_str_offsets") ?? EMPTY;
  if (refused !== null) return { ok: false, hasNone: false, reason: refused };
  return { ok: true, info: info ?? EMPTY, abbreviations: abbreviations ?? EMPTY, strings, stringOffsets };
}

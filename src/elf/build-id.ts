/** The GNU build id: which build of a library this file is. */
import type { ByteView } from "./byte-view.ts";
import { SECTION, type Section } from "./sections.ts";
import { SEGMENT, type Segment } from "./segments.ts";

const NT_GNU_BUILD_ID = 3;
const ID_LIMIT_BYTES = 64;
const NOTE_LIMIT = 256;

function inNotes(view: ByteView, start: number, sizeBytes: number): string | null {
  const end = Math.min(start + sizeBytes, view.length);
  let offset = start;
  for (let note = 0; note < NOTE_LIMIT && offset + 12 <= end; note++) {
    const nameBytes = view.u32(offset) ?? 0;
    const idBytes = view.u32(offset + 4) ?? 0;
    const type = view.u32(offset + 8);
    const idAt = offset + 12 + Math.ceil(nameBytes / 4) * 4;
    if (type === NT_GNU_BUILD_ID && nameBytes === 4 && view.text(offset + 12, 4) === "GNU") {
      if (idBytes === 0 || idBytes > ID_LIMIT_BYTES || idAt + idBytes > end) return null;
      let hex = "";
      for (let i = 0; i < idBytes; i++) hex += (view.u8(idAt + i) ?? 0).toString(16).padStart(2, "0");
      return hex;
    }
    offset = idAt + Math.ceil(idBytes / 4) * 4;
  }
  return null;
}

/** Lower-case hexadecimal build id from PT_NOTE, else from a note section; null where there is none. */
export function readBuildId(
  view: ByteView,
  segments: readonly Segment[],
  sections: () => readonly Section[],
): string | null {
  for (const s of segments) {
    const id = s.type === SEGMENT.note ? inNotes(view, s.offset, s.fileBytes) : null;
    if (id !== null) return id;
  }
  for (const s of sections()) {
    const id = s.type === SECTION.note ? inNotes(view, s.offset, s.sizeBytes) : null;
    if (id !== null) return id;
  }
  return null;
}

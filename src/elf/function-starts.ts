/**
 * Function starts from `.eh_frame_hdr`, the sorted table that unwinders search (Linux Standard Base 5.0, Core, 10.6.2).
 * It is there in stripped release builds, where no symbol says where a static function begins.
 */
import { firstIndex } from "../statistics/first-index.ts";
import type { ByteView } from "./byte-view.ts";
import type { Section } from "./sections.ts";
import { fileOffsetOf, SEGMENT, type Segment } from "./segments.ts";

export interface FunctionRange {
  /** Virtual address of the first instruction. */
  readonly start: number;
  /** Virtual address after the last; null where the unwind entry does not say it in a known form. */
  readonly end: number | null;
}

export interface FunctionStarts {
  readonly count: number;
  /** Start of entry `index`, in order of address. */
  start(index: number): number | null;
  /** The function whose range holds `vaddr`; null where none does. */
  at(vaddr: number): FunctionRange | null;
}

const VALUE_4_BYTES = 0x03;
const SIGNED_4_BYTES = 0x0b;
const RELATIVE_TO_HEADER = 0x30;
const OMITTED = 0xff;
/** Bytes of an encoded pointer by the low three bits of its form; 1 (LEB128) has no fixed size. */
const FORM_BYTES = [8, 0, 2, 4, 8, 0, 0, 0];
const ENTRY_BYTES = 8;

/** Bytes of the address range in an FDE, which has the form of its first address but is never relative. */
function rangeForm(view: ByteView, fdeAt: number): number | null {
  const back = view.u32(fdeAt + 4);
  if (back === null || back === 0) return null;
  const cieAt = fdeAt + 4 - back;
  const augmentation = view.text(cieAt + 9, 16);
  if (view.u32(cieAt + 4) !== 0 || augmentation === null || !augmentation.startsWith("z")) return null;
  let offset = cieAt + 9 + augmentation.length + 1;
  const skipLeb = () => {
    for (let i = 0; i < 10; i++) if (((view.u8(offset++) ?? 0) & 0x80) === 0) return;
  };
  for (let field = 0; field < 4; field++) skipLeb(); // code and data alignment, return register, augmentation length
  for (const letter of augmentation.slice(1)) {
    if (letter === "R") return view.u8(offset);
    if (letter === "L") offset += 1;
    else if (letter === "P") offset += 1 + (FORM_BYTES[(view.u8(offset) ?? 0) & 7] ?? 0);
    else if (letter !== "S" && letter !== "B") return null;
  }
  return null;
}

function functionEnd(view: ByteView, fdeAt: number | null, start: number): number | null {
  if (fdeAt === null) return null;
  const form = rangeForm(view, fdeAt);
  const bytes = form === null ? 0 : (FORM_BYTES[form & 7] ?? 0);
  const range = bytes === 4 ? view.u32(fdeAt + 12) : bytes === 8 ? view.u64(fdeAt + 16) : null;
  return range === null || range === 0 ? null : start + range;
}

/** Opens the search table; null where the file has none in the one form that linkers write (sorted 32-bit pairs). */
export function readFunctionStarts(
  view: ByteView,
  segments: readonly Segment[],
  sections: () => readonly Section[],
): FunctionStarts | null {
  const header =
    segments.find((s) => s.type === SEGMENT.eh_frame) ?? sections().find((s) => s.name === ".eh_frame_hdr");
  if (!header || view.u8(header.offset) !== 1) return null;
  const frameForm = view.u8(header.offset + 1) ?? OMITTED;
  const frameBytes = frameForm === OMITTED ? 0 : (FORM_BYTES[frameForm & 7] ?? 0);
  if (view.u8(header.offset + 2) !== VALUE_4_BYTES) return null;
  if (view.u8(header.offset + 3) !== (SIGNED_4_BYTES | RELATIVE_TO_HEADER)) return null;
  const declared = view.u32(header.offset + 4 + frameBytes) ?? 0;
  const base = header.vaddr;
  const tableAt = header.offset + 8 + frameBytes;
  const count = Math.min(declared, Math.max(0, Math.floor((view.length - tableAt) / ENTRY_BYTES)));

  const start = (index: number) => {
    const relative = index >= 0 && index < count ? view.i32(tableAt + index * ENTRY_BYTES) : null;
    return relative === null ? null : base + relative;
  };
  function rangeAt(vaddr: number): FunctionRange | null {
    const index = firstIndex(count, (i) => (start(i) ?? Number.POSITIVE_INFINITY) <= vaddr) - 1;
    const first = start(index);
    if (first === null || first > vaddr) return null;
    const fde = view.i32(tableAt + index * ENTRY_BYTES + 4);
    const end = functionEnd(view, fde === null ? null : fileOffsetOf(segments, base + fde), first);
    return end !== null && vaddr >= end ? null : { start: first, end };
  }
  return { count, start, at: rangeAt };
}

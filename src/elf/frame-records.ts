/** Unwind entries of `.eh_frame`, one for each function, in the order of the linker (Linux Standard Base 5.0, Core, 10.6.1). */
import type { ByteView } from "./byte-view.ts";
import type { Section } from "./sections.ts";

/** Bytes of an encoded pointer by the low three bits of its form; 1 (LEB128) has no fixed size. */
export const FORM_BYTES = [8, 0, 2, 4, 8, 0, 0, 0];

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

/** Virtual address after the last instruction of a function; null where its entry does not say it in a known form. */
export function functionEnd(view: ByteView, fdeAt: number | null, start: number): number | null {
  if (fdeAt === null) return null;
  const form = rangeForm(view, fdeAt);
  const bytes = form === null ? 0 : (FORM_BYTES[form & 7] ?? 0);
  const range = bytes === 4 ? view.u32(fdeAt + 12) : bytes === 8 ? view.u64(fdeAt + 16) : null;
  return range === null || range === 0 ? null : start + range;
}

export interface ScannedFunctions {
  /** Virtual addresses, ascending. */
  readonly starts: Float64Array;
  /** Address after the last instruction of each. */
  readonly ends: Float64Array;
}

/** Relative to the place of the pointer, in signed 32 bits: what compilers write. */
const RELATIVE_4_BYTES = 0x1b;
/** Bytes that are gone through, in some tenths of a second at worst. A C library has 50 KiB of them. */
const MOST_BYTES = 1 << 23;
const EXTENDED = 0xffffffff;

/** The functions of all entries; null where the file has no such section, a very large one, or one with another form. */
export function scannedFunctions(view: ByteView, sections: readonly Section[]): ScannedFunctions | null {
  const section = sections.find(({ name }) => name === ".eh_frame");
  if (section === undefined || section.sizeBytes > MOST_BYTES) return null;
  const found: [start: number, end: number][] = [];
  const forms = new Map<number, number | null>();
  const until = Math.min(section.offset + section.sizeBytes, view.length);
  for (let entry = section.offset; entry + 8 <= until; ) {
    const length = view.u32(entry) ?? 0;
    if (length === 0) break;
    if (length === EXTENDED) return null;
    const back = view.u32(entry + 4) ?? 0;
    if (back !== 0) {
      const cie = entry + 4 - back;
      const form = forms.get(cie) ?? rangeForm(view, entry);
      forms.set(cie, form);
      if (form !== RELATIVE_4_BYTES) return null;
      const relative = view.i32(entry + 8);
      const range = view.u32(entry + 12);
      if (relative === null || range === null) return null;
      const start = section.vaddr + (entry + 8 - section.offset) + relative;
      if (range > 0) found.push([start, start + range]);
    }
    entry += 4 + length;
  }
  found.sort((a, b) => a[0] - b[0]);
  return { starts: Float64Array.from(found, ([start]) => start), ends: Float64Array.from(found, ([, end]) => end) };
}

/**
 * Function starts from `.eh_frame_hdr`, the sorted table that unwinders search (Linux Standard Base 5.0, Core, 10.6.2).
 * It is there in stripped release builds, where no symbol says where a static function begins. Programs that are linked
 * statically have no such table; their unwind entries are gone through one by one.
 */
import { firstIndex } from "../statistics/first-index.ts";
import type { ByteView } from "./byte-view.ts";
import { FORM_BYTES, functionEnd, type ScannedFunctions, scannedFunctions } from "./frame-records.ts";
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
const ENTRY_BYTES = 8;

/** Functions of unwind entries without a table. */
function fromScan({ starts, ends }: ScannedFunctions): FunctionStarts {
  const start = (index: number): number | null => starts[index] ?? null;
  return {
    count: starts.length,
    start,
    at(vaddr) {
      const index = firstIndex(starts.length, (i) => (starts[i] as number) <= vaddr) - 1;
      const [first, end] = [start(index), ends[index]];
      return first === null || end === undefined || vaddr >= end ? null : { start: first, end };
    },
  };
}

/**
 * Opens the search table, or goes through the entries where there is none; null where the file has neither in the one form
 * that linkers write (a table of sorted 32-bit pairs, entries of relative 32-bit addresses).
 */
export function readFunctionStarts(
  view: ByteView,
  segments: readonly Segment[],
  sections: () => readonly Section[],
): FunctionStarts | null {
  const header =
    segments.find((s) => s.type === SEGMENT.eh_frame) ?? sections().find((s) => s.name === ".eh_frame_hdr");
  if (!header) {
    const scanned = scannedFunctions(view, sections());
    return scanned === null ? null : fromScan(scanned);
  }
  if (view.u8(header.offset) !== 1) return null;
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

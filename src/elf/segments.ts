/** Program headers: where the bytes of the file lie in memory. */
import type { ByteView } from "./byte-view.ts";

export const SEGMENT = { load: 1, dynamic: 2, note: 4, eh_frame: 0x6474e550 } as const;

export interface Segment {
  /** p_type, see SEGMENT. */
  readonly type: number;
  /** PF_ bits: 1 execute, 2 write, 4 read. */
  readonly flags: number;
  readonly offset: number;
  readonly vaddr: number;
  readonly fileBytes: number;
  readonly memoryBytes: number;
}

const HEADER_BYTES = 56;

/** Up to `count` program headers at `offset`; those that do not lie in the file are left out. */
export function readSegments(view: ByteView, offset: number, entryBytes: number, count: number): Segment[] {
  const segments: Segment[] = [];
  if (entryBytes < HEADER_BYTES) return segments;
  for (let i = 0; i < count; i++) {
    const position = offset + i * entryBytes;
    const memoryBytes = view.u64(position + 40);
    if (memoryBytes === null) break;
    segments.push({
      type: view.u32(position) ?? 0,
      flags: view.u32(position + 4) ?? 0,
      offset: view.u64(position + 8) ?? 0,
      vaddr: view.u64(position + 16) ?? 0,
      fileBytes: view.u64(position + 32) ?? 0,
      memoryBytes,
    });
  }
  return segments;
}

/** File offset of a virtual address; null where no PT_LOAD maps file bytes there. */
export function fileOffsetOf(segments: readonly Segment[], vaddr: number): number | null {
  for (const s of segments) {
    if (s.type === SEGMENT.load && vaddr >= s.vaddr && vaddr < s.vaddr + s.fileBytes) return vaddr - s.vaddr + s.offset;
  }
  return null;
}

/** Virtual address of a file offset; an executable segment goes before another that maps the same bytes. */
export function vaddrOf(segments: readonly Segment[], offset: number): number | null {
  let found: number | null = null;
  for (const s of segments) {
    if (s.type !== SEGMENT.load || offset < s.offset || offset >= s.offset + s.fileBytes) continue;
    if (s.flags & 1) return offset - s.offset + s.vaddr;
    found ??= offset - s.offset + s.vaddr;
  }
  return found;
}

/** The dynamic section: where the loader finds symbols, their names and hashes. */
import type { ByteView } from "./byte-view.ts";
import { fileOffsetOf, SEGMENT, type Segment } from "./segments.ts";

const TAG = { hash: 4, strtab: 5, symtab: 6, soname: 14, gnu_hash: 0x6ffffef5, versym: 0x6ffffff0 } as const;

/** Tags beyond these are no library's: one has some 30. */
const MOST_TAGS = 1 << 12;

/** File offsets of the loader's tables; null where the file names none. */
export interface Dynamic {
  readonly names: number | null;
  readonly symbols: number | null;
  readonly hash: number | null;
  readonly gnuHash: number | null;
  readonly versions: number | null;
  readonly soname: string | null;
}

/** Reads the tags of PT_DYNAMIC up to DT_NULL or the end of the segment. */
export function readDynamic(view: ByteView, segments: readonly Segment[]): Dynamic {
  const values = new Map<number, number>();
  const segment = segments.find((s) => s.type === SEGMENT.dynamic);
  const bytes = Math.min(segment?.fileBytes ?? 0, 16 * MOST_TAGS);
  const end = segment ? Math.min(segment.offset + bytes, view.length) : 0;
  for (let position = segment?.offset ?? 0; position + 16 <= end; position += 16) {
    const tag = view.u64(position);
    const value = view.u64(position + 8);
    if (tag === null || value === null || tag === 0) break;
    if (!values.has(tag)) values.set(tag, value);
  }
  const offset = (tag: number) => {
    const vaddr = values.get(tag);
    return vaddr === undefined ? null : fileOffsetOf(segments, vaddr);
  };
  const names = offset(TAG.strtab);
  const sonameAt = values.get(TAG.soname);
  return {
    names,
    symbols: offset(TAG.symtab),
    hash: offset(TAG.hash),
    gnuHash: offset(TAG.gnu_hash),
    versions: offset(TAG.versym),
    soname: names === null || sonameAt === undefined ? null : view.text(names + sonameAt),
  };
}

/** Section headers, for files whose program headers do not say enough. */
import type { ByteView } from "./byte-view.ts";

export const SECTION = { symtab: 2, note: 7, nobits: 8, dynsym: 11 } as const;

export interface Section {
  readonly name: string;
  /** sh_type, see SECTION. */
  readonly type: number;
  /** sh_flags. */
  readonly flags: number;
  readonly vaddr: number;
  readonly offset: number;
  readonly sizeBytes: number;
  readonly link: number;
}

const HEADER_BYTES = 64;

/** Section headers with their names; empty where the table or its names are not in the file. */
export function readSections(
  view: ByteView,
  offset: number,
  entryBytes: number,
  count: number,
  nameIndex: number,
): Section[] {
  if (entryBytes < HEADER_BYTES || offset === 0) return [];
  const namesAt = view.u64(offset + nameIndex * entryBytes + 24);
  if (namesAt === null) return [];
  const sections: Section[] = [];
  for (let i = 0; i < count; i++) {
    const position = offset + i * entryBytes;
    const link = view.u32(position + 40);
    if (link === null) break;
    sections.push({
      name: view.text(namesAt + (view.u32(position) ?? 0), 256) ?? "",
      type: view.u32(position + 4) ?? 0,
      flags: view.u64(position + 8) ?? 0,
      vaddr: view.u64(position + 16) ?? 0,
      offset: view.u64(position + 24) ?? 0,
      sizeBytes: view.u64(position + 32) ?? 0,
      link,
    });
  }
  return sections;
}

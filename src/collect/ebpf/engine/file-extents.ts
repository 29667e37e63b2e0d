/** Where a process maps files of one kind: pieces of one mapping that lie side by side are one extent, whatever their protection. */
import type { MappingRow } from "../../../regions/mapping-row.ts";

export interface FileExtent {
  readonly pid: number;
  readonly mapping_id: number;
  readonly addr: bigint;
  readonly size_bytes: bigint;
  readonly file_offset_bytes: bigint;
  readonly dev: number | null;
  readonly inode: bigint;
  readonly path: string;
  /** When it came to this address. */
  readonly since_ns: bigint;
  /** True where it was there before we looked. */
  readonly birth_censored: boolean;
}

/** Bytes of addresses. */
export interface AddressRange {
  readonly addr: bigint;
  readonly size_bytes: bigint;
}

export const meets = (a: AddressRange, b: AddressRange): boolean =>
  a.addr < b.addr + b.size_bytes && b.addr < a.addr + a.size_bytes;

/** The same for as long as the same bytes of the same file are at the same addresses by the same call. */
export const extentKey = ({ mapping_id, addr, size_bytes, file_offset_bytes }: FileExtent): string =>
  `${mapping_id}/${addr}/${size_bytes}/${file_offset_bytes}`;

/** @param rows live mappings of a process, in order of address */
export function fileExtents(rows: readonly MappingRow[], isWanted: (path: string) => boolean): FileExtent[] {
  const found: FileExtent[] = [];
  for (const row of rows) {
    const { pid, mapping_id, addr, size_bytes, file_offset_bytes, dev, inode, path, since_ns, birth_censored } = row;
    if (path === null || inode === null || file_offset_bytes === null || !isWanted(path)) continue;
    const last = found.at(-1);
    const goesOn =
      last?.mapping_id === mapping_id &&
      last.addr + last.size_bytes === addr &&
      last.file_offset_bytes + last.size_bytes === file_offset_bytes;
    if (goesOn) found[found.length - 1] = { ...last, size_bytes: last.size_bytes + size_bytes };
    else
      found.push({ pid, mapping_id, addr, size_bytes, file_offset_bytes, dev, inode, path, since_ns, birth_censored });
  }
  return found;
}

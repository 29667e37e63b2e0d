/** Which bytes a call took away from their addresses: what was watched there is not there any more. */
import { PAGE_BYTES } from "../../../kernel/libc.ts";
import type { MappingEvent } from "../../../regions/mapping-row.ts";

const MAP_FIXED = 0x10;
const MREMAP_FIXED = 2;
const PAGE = BigInt(PAGE_BYTES);

export interface GoneRange {
  readonly addr: bigint;
  readonly size_bytes: bigint;
}

const pages = (size_bytes: bigint): bigint => ((size_bytes + PAGE - 1n) / PAGE) * PAGE;

function goneByMremap({ addr, size_bytes, old_addr, old_size_bytes, flags }: MappingEvent): GoneRange[] {
  if (old_addr === null || old_size_bytes === null) return [];
  const [old, size] = [pages(old_size_bytes), pages(size_bytes)];
  if (addr === old_addr) return size < old ? [{ addr: addr + size, size_bytes: old - size }] : [];
  const replaced = ((flags ?? 0) & MREMAP_FIXED) === 0 ? [] : [{ addr, size_bytes: size }];
  // An old size of 0 makes a second mapping of the same memory, and moves nothing.
  return old === 0n ? replaced : [{ addr: old_addr, size_bytes: old }, ...replaced];
}

/** Ranges, in whole pages, whose bytes ended or moved away with this row; none for a call that failed. */
export function goneRanges(row: MappingEvent): GoneRange[] {
  const { kind, addr, size_bytes, old_addr, result } = row;
  if (result !== null && result < 0n && result > -4096n) return [];
  switch (kind) {
    case "munmap":
      return [{ addr, size_bytes: pages(size_bytes) }];
    case "mremap":
      return goneByMremap(row);
    case "mmap":
      return ((row.flags ?? 0) & MAP_FIXED) === 0 ? [] : [{ addr, size_bytes: pages(size_bytes) }];
    case "brk": {
      if (old_addr === null || result === null) return [];
      const [from, target] = [pages(BigInt.asUintN(64, result)), pages(old_addr)];
      return from < target ? [{ addr: from, size_bytes: target - from }] : [];
    }
    default:
      return [];
  }
}

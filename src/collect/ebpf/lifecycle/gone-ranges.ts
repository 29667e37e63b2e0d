/** Which bytes a call took away from their addresses, or from memory: what was watched there is not there any more. */
import { PAGE_BYTES } from "../../../kernel/libc.ts";
import type { MappingEvent } from "../../../regions/mapping-row.ts";

const MAP_FIXED = 0x10;
const MREMAP_FIXED = 2;
/** Advice by which pages go at once: MADV_DONTNEED, MADV_REMOVE, MADV_DONTNEED_LOCKED, MADV_GUARD_INSTALL. */
const GIVES_BACK: ReadonlySet<number> = new Set([4, 9, 24, 102]);
const ENOMEM = -12n;
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

const failed = ({ result }: MappingEvent): boolean => result !== null && result < 0n && result > -4096n;

/**
 * Ranges, in whole pages, that stay mapped and whose pages the program gave back with this row: where one has a hole, the
 * kernel goes on behind it, and says at the end that there was one.
 */
export function givenBackRanges(row: MappingEvent): GoneRange[] {
  const isDone = !failed(row) || row.result === ENOMEM;
  const isGivenBack = row.kind === "madvise" && GIVES_BACK.has(row.flags ?? 0) && isDone;
  return isGivenBack ? [{ addr: row.addr, size_bytes: pages(row.size_bytes) }] : [];
}

/** Ranges, in whole pages, whose bytes ended or moved away with this row; none for a call that failed. */
export function goneRanges(row: MappingEvent): GoneRange[] {
  const { kind, addr, size_bytes, old_addr, result } = row;
  if (failed(row)) return [];
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

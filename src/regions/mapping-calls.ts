/** What one system call row does to one address space, with the kernel's rounding to pages. */
import {
  type AddressSpace,
  ALL_PAGES,
  hasFileOffset,
  mappedState,
  newMapping,
  type PageState,
  place,
  protect,
  unmap,
} from "./address-space.ts";
import type { FileNames } from "./file-names.ts";
import { isShared, MAP_ANONYMOUS, MAP_HUGETLB, type MappingEvent } from "./mapping-row.ts";
import { MREMAP_DONTUNMAP, MREMAP_FIXED, remap } from "./mremap.ts";
import { moveBreak } from "./program-break.ts";

/** `unknown`: applied, on pages of which no mapping was known. `partial`: refused, perhaps half way. */
export type Outcome = "applied" | "unknown" | "failed" | "partial" | "bad";

const ADDRESS_END = 1n << 64n;
const EINVAL = -22n;
const MADV_DONTFORK = 10;
const MADV_DOFORK = 11;
const PROT_BITS = 7;
const PROT_GROWSDOWN = 0x01000000;
const HUGE_PAGE_SHIFT = 21;

export interface PageRange {
  readonly from: number;
  readonly to: number;
}

/** Pages that [addr, addr + size) touches; null when it is empty or passes the end of the address space. */
export function pageRange(addr: bigint, size_bytes: bigint, pageShift: bigint): PageRange | null {
  if (addr < 0n || size_bytes <= 0n || addr + size_bytes > ADDRESS_END) return null;
  return { from: Number(addr >> pageShift), to: pageCeil(addr + size_bytes, pageShift) };
}

function pageCeil(bytes: bigint, pageShift: bigint): number {
  return Number((bytes + (1n << pageShift) - 1n) >> pageShift);
}

/** Applies a call, successful or not, to `space`. */
export function applyCall(space: AddressSpace, names: FileNames, row: MappingEvent, pageShift: bigint): Outcome {
  if (row.kind === "brk") return brk(space, row, pageShift);
  if (row.result !== null && row.result < 0n) return refused(row);
  switch (row.kind) {
    case "mmap":
      return mmap(space, names, row, pageShift);
    case "munmap": {
      const range = pageRange(row.addr, row.size_bytes, pageShift);
      if (range === null) return "bad";
      unmap(space, begin(row), end(row), range.from, range.to, "munmap");
      return "applied";
    }
    case "mprotect":
      return mprotect(space, row, pageShift);
    case "mremap":
      return mremap(space, row, pageShift);
    case "madvise":
      return madvise(space, row, pageShift);
    default:
      return "bad";
  }
}

function begin(row: MappingEvent): bigint {
  return row.begin_ns ?? row.timestamp_ns;
}
function end(row: MappingEvent): bigint {
  return row.end_ns ?? row.timestamp_ns;
}

/** Arguments are checked before anything changes; other errors may come after a part of the range was changed. */
function refused(row: MappingEvent): Outcome {
  if (row.kind === "munmap" || row.kind === "mprotect") return row.result === EINVAL ? "failed" : "partial";
  // A fixed move unmaps its target first.
  if (row.kind === "mremap") {
    return row.result === EINVAL && ((row.flags ?? 0) & MREMAP_FIXED) === 0 ? "failed" : "partial";
  }
  return "failed";
}

function mmap(space: AddressSpace, names: FileNames, row: MappingEvent, pageShift: bigint): Outcome {
  const { flags, prot } = row;
  if (flags === null || prot === null) return "bad";
  let size_bytes = row.size_bytes;
  if ((flags & MAP_HUGETLB) !== 0) {
    const hugeShift = BigInt((flags >>> 26) & 63 || HUGE_PAGE_SHIFT);
    size_bytes = ((size_bytes + (1n << hugeShift) - 1n) >> hugeShift) << hugeShift;
  }
  const range = pageRange(row.result ?? row.addr, size_bytes, pageShift);
  if (range === null) return "bad";
  const { dev, inode, path, exec_epoch } = row;
  const anonymous = (flags & MAP_ANONYMOUS) !== 0;
  const mapping = newMapping({ exec_epoch, flags, begin_ns: begin(row), dev, inode, path });
  const offset = anonymous ? 0 : Number((row.file_offset_bytes ?? 0n) >> pageShift);
  const file_pages = hasFileOffset(flags) ? offset - range.from : 0;
  if (!anonymous || isShared(flags)) names.complete(mapping, range.from, begin(row), end(row));
  place(space, range.from, range.to, mappedState(mapping, end(row), prot & PROT_BITS, file_pages));
  return "applied";
}

function mprotect(space: AddressSpace, row: MappingEvent, pageShift: bigint): Outcome {
  if (row.prot === null) return "bad";
  if (row.size_bytes === 0n) return "applied";
  const range = pageRange(row.addr, row.size_bytes, pageShift);
  if (range === null) return "bad";
  let { from } = range;
  if ((row.prot & PROT_GROWSDOWN) !== 0) {
    let below = space.pages.segment(from);
    const mapping = below?.state.mapping;
    while (mapping && below && below.state.mapping === mapping) {
      from = below.from;
      below = space.pages.segment(from - 1);
    }
  }
  return protect(space, end(row), from, range.to, row.prot & PROT_BITS) > 0 ? "unknown" : "applied";
}

function mremap(space: AddressSpace, row: MappingEvent, pageShift: bigint): Outcome {
  if (row.old_addr === null || row.old_size_bytes === null || row.old_size_bytes < 0n) return "bad";
  const target = pageRange(row.result ?? row.addr, row.size_bytes, pageShift);
  const source = pageRange(row.old_addr, row.old_size_bytes === 0n ? 1n : row.old_size_bytes, pageShift);
  if (target === null || source === null) return "bad";
  const call = {
    begin_ns: begin(row),
    end_ns: end(row),
    old_from: source.from,
    old_pages: row.old_size_bytes === 0n ? 0 : source.to - source.from,
    new_from: target.from,
    new_pages: target.to - target.from,
    dont_unmap: ((row.flags ?? 0) & MREMAP_DONTUNMAP) !== 0,
  };
  return remap(space, call, row.exec_epoch) ? "applied" : "unknown";
}

/** Only advice about fork changes the map; what is discarded stays mapped. */
function madvise(space: AddressSpace, row: MappingEvent, pageShift: bigint): Outcome {
  if (row.flags !== MADV_DONTFORK && row.flags !== MADV_DOFORK) return "applied";
  const range = pageRange(row.addr, row.size_bytes, pageShift);
  if (range === null) return row.size_bytes === 0n ? "applied" : "bad";
  const dont_fork = row.flags === MADV_DONTFORK;
  space.pages.amend(range.from, range.to, (old): PageState | undefined =>
    old?.mapping && old.since_ns <= end(row) && old.dont_fork !== dont_fork ? { ...old, dont_fork } : old,
  );
  return "applied";
}

/** The break of a heap that was there before we looked, to the page. */
function heapEnd(space: AddressSpace, pageShift: bigint): bigint | null {
  let end: bigint | null = null;
  space.pages.each(0, ALL_PAGES, (state, _, stop) => {
    if (state.mapping?.path === "[heap]") end = BigInt(stop) << pageShift;
  });
  return end;
}

/** brk answers with the break that is in force: another than was asked for is a refusal (or a question). */
function brk(space: AddressSpace, row: MappingEvent, pageShift: bigint): Outcome {
  const now = row.result ?? row.addr;
  const before = row.old_addr ?? space.brk ?? heapEnd(space, pageShift);
  if (now <= 0n || now > ADDRESS_END) return "bad";
  space.brk = now;
  if (before !== null && (before <= 0n || before > ADDRESS_END)) return "bad";
  if (row.addr !== 0n && row.addr !== now) return "failed";
  if (before === null) return row.addr === 0n ? "applied" : "unknown";
  moveBreak(space, begin(row), end(row), pageCeil(before, pageShift), pageCeil(now, pageShift), row.exec_epoch);
  return "applied";
}

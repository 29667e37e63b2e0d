/** Which pages of a process are in memory, or were swapped out: /proc/PID/pagemap, and its PAGEMAP_SCAN ioctl (include/uapi/linux/fs.h, Linux 6.7). */
import { openSync, readSync } from "node:fs";
import { addressOf, stableBytes } from "./foreign-memory.ts";
import { type Fd, libc, ownFd, PAGE_BYTES } from "./libc.ts";

/** _IOWR('f', 16, struct pm_scan_arg) */
const PAGEMAP_SCAN = 0xc0606610;
const PAGE_IS_PRESENT = 1n << 3n;
const PAGE_IS_SWAPPED = 1n << 4n;
const PAGE_IS_PFNZERO = 1n << 5n;
const ARG_BYTES = 96;
/** Offsets in struct pm_scan_arg. */
const ARG = {
  size: 0,
  start: 16,
  end: 24,
  walk_end: 32,
  vec: 40,
  vec_len: 48,
  max_pages: 56,
  category_inverted: 64,
  category_mask: 72,
  category_anyof_mask: 80,
  return_mask: 88,
} as const;
/** struct page_region: begin, end, categories. */
const REGION_BYTES = 24;
/** Runs of one answer; the kernel gives the lock back after each 512 of them. */
const MOST_RUNS = 1024;
/** A page has one word of 64 bits in the file: the highest says that it is in memory, the next that it is swapped out. */
const ENTRY_BYTES = 8;
const PRESENT_BIT = 0x80;
const SWAPPED_BIT = 0x40;
/** One that guards others against being reached (MADV_GUARD_INSTALL) looks like a swapped one, and holds nothing. */
const GUARD_BIT = 0x04;

/** True where a page holds what a program put there, by the highest byte of its word: one that was swapped out does. */
const holds = (bits: number): boolean =>
  (bits & PRESENT_BIT) !== 0 || (bits & (SWAPPED_BIT | GUARD_BIT)) === SWAPPED_BIT;

/** Pages one after another that are in memory. */
export interface ResidentRun {
  readonly addr: bigint;
  readonly end: bigint;
}

export interface PageScan {
  /** In order of address, each page once. */
  readonly runs: readonly ResidentRun[];
  /** Where the answer ends: before the end of what was asked for where there were very many runs. */
  readonly until: bigint;
}

/** Each call holds the map lock of the process for as long as it looks: ask for no more than is needed. */
export interface Pagemap extends Disposable {
  /** True where the page of an address is in memory now, or swapped out; false where the process has no memory any more. */
  isResident(addr: bigint): boolean;
  /**
   * The first page of [addr, end) that is in memory or swapped out, or `end` where none is. Parts that have no page tables are passed
   * over at once, others page by page.
   * @returns null where the kernel cannot say
   */
  firstResident(addr: bigint, end: bigint): bigint | null;
  /**
   * What of [addr, end) is in memory as the resident set counts it: without the page of zeros that reads of new memory
   * are given. Of an address space that is gone nothing is.
   * @param addr and `end` multiples of the page size
   * @returns null where the kernel cannot say
   */
  scan(addr: bigint, end: bigint): PageScan | null;
  /** False once the address space is gone: its process ended, or runs another program. */
  isAlive(): boolean;
}

/** Errors of who may not see a process; others mean that it is gone. */
const DENIALS = new Set(["EACCES", "EPERM"]);

/**
 * Opens the page map of a process; null where it is gone or not ours to see.
 * @param denied is called where it is not ours to see
 * @param proc where /proc is
 */
export function openPagemap(pid: number, denied?: () => void, proc = "/proc"): Pagemap | null {
  let file: Fd;
  try {
    file = ownFd(openSync(`${proc}/${pid}/pagemap`, "r"));
  } catch (error) {
    if (DENIALS.has((error as NodeJS.ErrnoException).code ?? "")) denied?.();
    return null;
  }
  const entry = stableBytes(ENTRY_BYTES);
  const found = stableBytes(REGION_BYTES);
  const first = new DataView(found.buffer);
  const argument = stableBytes(ARG_BYTES);
  const view = new DataView(argument.buffer);
  const runs = stableBytes(MOST_RUNS * REGION_BYTES);
  const run = new DataView(runs.buffer);

  /** Asks for pages of [addr, end) that match; returns how many runs were found, negative where the kernel cannot say. */
  function ask(
    addr: bigint,
    end: bigint,
    into: Uint8Array<ArrayBuffer>,
    fields: Readonly<Record<number, bigint>>,
  ): number {
    argument.fill(0);
    view.setBigUint64(ARG.size, BigInt(ARG_BYTES), true);
    view.setBigUint64(ARG.start, addr, true);
    view.setBigUint64(ARG.end, end, true);
    view.setBigUint64(ARG.vec, BigInt(addressOf(into)), true);
    view.setBigUint64(ARG.vec_len, BigInt(Math.floor(into.length / REGION_BYTES)), true);
    for (const [offset, value] of Object.entries(fields)) view.setBigUint64(Number(offset), value, true);
    return libc.ioctl(file.fd, PAGEMAP_SCAN, addressOf(argument));
  }

  return {
    isResident(addr) {
      try {
        const position = (addr / BigInt(PAGE_BYTES)) * BigInt(ENTRY_BYTES);
        if (readSync(file.fd, entry, 0, ENTRY_BYTES, position) !== ENTRY_BYTES) return false;
      } catch {
        return false; // The process ended while we read.
      }
      return holds(entry[ENTRY_BYTES - 1] ?? 0);
    },
    firstResident(addr, end) {
      // At most one page, and nothing beyond it.
      const count = ask(addr, end, found, {
        [ARG.max_pages]: 1n,
        [ARG.category_anyof_mask]: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
        [ARG.return_mask]: PAGE_IS_PRESENT,
      });
      if (count < 0) return null;
      return count === 0 ? end : first.getBigUint64(0, true);
    },
    scan(addr, end) {
      const count = ask(addr, end, runs, {
        [ARG.category_inverted]: PAGE_IS_PFNZERO,
        [ARG.category_mask]: PAGE_IS_PRESENT | PAGE_IS_PFNZERO,
        // Whether they are of files would take it four times as long, with the lock held: each page's descriptor is read for it.
        [ARG.return_mask]: PAGE_IS_PRESENT,
      });
      if (count < 0) return null;
      const resident: ResidentRun[] = [];
      // After every 512 runs the kernel begins a page table anew, and tells of what it had told there once more.
      let reached = addr;
      for (let offset = 0; offset < count * REGION_BYTES; offset += REGION_BYTES) {
        const [first, behind] = [run.getBigUint64(offset, true), run.getBigUint64(offset + 8, true)];
        if (behind <= reached) continue;
        if (first > reached) reached = first;
        resident.push({ addr: reached, end: behind });
        reached = behind;
      }
      const walked = view.getBigUint64(ARG.walk_end, true);
      if (walked > reached) reached = walked;
      return { runs: resident, until: reached };
    },
    isAlive() {
      try {
        return readSync(file.fd, entry, 0, ENTRY_BYTES, 0) === ENTRY_BYTES;
      } catch {
        return false;
      }
    },
    [Symbol.dispose]() {
      file[Symbol.dispose]();
    },
  };
}

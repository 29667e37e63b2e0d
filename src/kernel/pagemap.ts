/** Which pages of a process are in memory: /proc/PID/pagemap, and its PAGEMAP_SCAN ioctl (include/uapi/linux/fs.h, Linux 6.7). */
import { openSync, readSync } from "node:fs";
import { addressOf, stableBytes } from "./foreign-memory.ts";
import { type Fd, libc, ownFd, PAGE_BYTES } from "./libc.ts";

/** _IOWR('f', 16, struct pm_scan_arg) */
const PAGEMAP_SCAN = 0xc0606610;
const PAGE_IS_PRESENT = 1n << 3n;
const ARG_BYTES = 96;
const REGION_BYTES = 24;
/** A page has one word of 64 bits in the file, and the highest says that it is in memory. */
const ENTRY_BYTES = 8;
const PRESENT_BIT = 0x80;

/** Each call holds the map lock of the process for as long as it looks: ask for no more than is needed. */
export interface Pagemap extends Disposable {
  /** True where the page of an address is in memory now; false where the process has no memory any more. */
  isResident(addr: bigint): boolean;
  /**
   * The first page of [addr, end) that is in memory, or `end` where none is. Parts that have no page tables are passed
   * over at once, others page by page.
   * @returns null where the kernel cannot say
   */
  firstResident(addr: bigint, end: bigint): bigint | null;
}

/** Opens the page map of a process; null where it is gone or not ours to see. */
export function openPagemap(pid: number): Pagemap | null {
  let file: Fd;
  try {
    file = ownFd(openSync(`/proc/${pid}/pagemap`, "r"));
  } catch {
    return null;
  }
  const entry = stableBytes(ENTRY_BYTES);
  const found = stableBytes(REGION_BYTES);
  const first = new DataView(found.buffer);
  const argument = stableBytes(ARG_BYTES);
  const view = new DataView(argument.buffer);
  return {
    isResident(addr) {
      try {
        const position = (addr / BigInt(PAGE_BYTES)) * BigInt(ENTRY_BYTES);
        if (readSync(file.fd, entry, 0, ENTRY_BYTES, position) !== ENTRY_BYTES) return false;
      } catch {
        return false; // The process ended while we read.
      }
      return ((entry[ENTRY_BYTES - 1] ?? 0) & PRESENT_BIT) !== 0;
    },
    firstResident(addr, end) {
      argument.fill(0);
      view.setBigUint64(0, BigInt(ARG_BYTES), true);
      view.setBigUint64(16, addr, true);
      view.setBigUint64(24, end, true);
      view.setBigUint64(40, BigInt(addressOf(found)), true);
      view.setBigUint64(48, 1n, true);
      // At most one page, and nothing beyond it.
      view.setBigUint64(56, 1n, true);
      view.setBigUint64(72, PAGE_IS_PRESENT, true);
      view.setBigUint64(88, PAGE_IS_PRESENT, true);
      const count = libc.ioctl(file.fd, PAGEMAP_SCAN, addressOf(argument));
      if (count < 0) return null;
      return count === 0 ? end : first.getBigUint64(0, true);
    },
    [Symbol.dispose]() {
      file[Symbol.dispose]();
    },
  };
}

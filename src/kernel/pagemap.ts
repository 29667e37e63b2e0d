/** Which pages of a process are in memory: the PAGEMAP_SCAN ioctl (include/uapi/linux/fs.h, kernel 6.7 and later). */
import { openSync } from "node:fs";
import { addressOf, stableBytes } from "./foreign-memory.ts";
import { type Fd, libc, ownFd } from "./libc.ts";

/** _IOWR('f', 16, struct pm_scan_arg) */
const PAGEMAP_SCAN = 0xc0606610;
const PAGE_IS_PRESENT = 1n << 3n;
const ARG_BYTES = 96;
const REGION_BYTES = 24;
const MAX_REGIONS = 4096;

export interface PageRun {
  readonly addr: bigint;
  readonly size_bytes: number;
}

export interface Pagemap extends Disposable {
  /** Runs of pages of [addr, addr + size_bytes) that are in memory, at most 4096; null where the kernel cannot say. */
  resident(addr: bigint, size_bytes: bigint): PageRun[] | null;
}

/** Opens the page map of a process; null where it is gone or not ours to see. */
export function openPagemap(pid: number): Pagemap | null {
  let file: Fd;
  try {
    file = ownFd(openSync(`/proc/${pid}/pagemap`, "r"));
  } catch {
    return null;
  }
  const found = stableBytes(REGION_BYTES * MAX_REGIONS);
  const argument = stableBytes(ARG_BYTES);
  const view = new DataView(argument.buffer);
  const runs = new DataView(found.buffer);
  return {
    resident(addr, size_bytes) {
      argument.fill(0);
      view.setBigUint64(0, BigInt(ARG_BYTES), true);
      view.setBigUint64(16, addr, true);
      view.setBigUint64(24, addr + size_bytes, true);
      view.setBigUint64(40, BigInt(addressOf(found)), true);
      view.setBigUint64(48, BigInt(MAX_REGIONS), true);
      view.setBigUint64(72, PAGE_IS_PRESENT, true);
      view.setBigUint64(88, PAGE_IS_PRESENT, true);
      const count = libc.ioctl(file.fd, PAGEMAP_SCAN, addressOf(argument));
      if (count < 0) return null;
      const out: PageRun[] = [];
      for (let i = 0; i < count; i++) {
        const start = runs.getBigUint64(i * REGION_BYTES, true);
        const end = runs.getBigUint64(i * REGION_BYTES + 8, true);
        out.push({ addr: start, size_bytes: Number(end - start) });
      }
      return out;
    },
    [Symbol.dispose]() {
      file[Symbol.dispose]();
    },
  };
}

/** Whether pages of the tree are in memory, or swapped out, which the kernel does to those that were not used: asked one at a time, as each question holds a lock of the process. */

import type { Look } from "../../../../kernel/looks.ts";
import { openPagemap, type Pagemap } from "../../../../kernel/pagemap.ts";
import { urgently } from "../../../../kernel/urgent.ts";

export interface Residency extends Disposable {
  /** False where the process is gone. */
  isResident(pid: number, addr: bigint): boolean;
  /** The first such page of [addr, end), or `end`; null where the kernel cannot say. */
  firstResident(pid: number, addr: bigint, end: bigint): bigint | null;
  /** The process ended, or has another address space now. */
  forget(pid: number): void;
}

/** Files that are held open: when there are more, all are opened again as they are asked for. */
const MOST_OPEN = 64;

export function openResidency(look: Look): Residency {
  const open = new Map<number, Pagemap | null>();

  function forget(pid: number): void {
    open.get(pid)?.[Symbol.dispose]();
    open.delete(pid);
  }

  function close(): void {
    for (const pid of [...open.keys()]) forget(pid);
  }

  function pagemapOf(pid: number): Pagemap | null {
    const opened = open.get(pid);
    if (opened !== undefined) return opened;
    if (open.size >= MOST_OPEN) close();
    const pagemap = openPagemap(pid);
    open.set(pid, pagemap);
    return pagemap;
  }

  return {
    isResident(pid, addr) {
      const pagemap = pagemapOf(pid);
      return pagemap !== null && urgently(() => look(() => pagemap.isResident(addr)));
    },
    firstResident(pid, addr, end) {
      const pagemap = pagemapOf(pid);
      return pagemap === null ? null : urgently(() => look(() => pagemap.firstResident(addr, end)));
    },
    forget,
    [Symbol.dispose]: close,
  };
}

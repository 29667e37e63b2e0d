/** Reads of a process by whole pages, each once: many small objects lie on few pages, and every read takes its lock. */
import type { ReadMemory } from "../engine.ts";

const PAGE_BYTES = 4096;

/** For one look: what changes behind the first read of a page is not seen. */
export function pagedReads(read: ReadMemory): ReadMemory {
  const pages = new Map<bigint, Uint8Array | null>();

  function pageAt(address: bigint): Uint8Array | null {
    const earlier = pages.get(address);
    if (earlier !== undefined) return earlier;
    const page = read(address, PAGE_BYTES);
    pages.set(address, page);
    return page;
  }

  return (address, length) => {
    if (address < 0n || length > PAGE_BYTES) return read(address, length);
    const within = Number(address % BigInt(PAGE_BYTES));
    const page = pageAt(address - BigInt(within));
    if (page === null) return null;
    if (within + length <= PAGE_BYTES) return page.subarray(within, within + length);
    const next = pageAt(address - BigInt(within) + BigInt(PAGE_BYTES));
    if (next === null) return null;
    const bytes = new Uint8Array(length);
    bytes.set(page.subarray(within));
    bytes.set(next.subarray(0, length - (PAGE_BYTES - within)), PAGE_BYTES - within);
    return bytes;
  };
}

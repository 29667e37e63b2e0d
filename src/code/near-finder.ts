/** Finds what memory the code around a place of a running process accesses; each place of a file is decoded once. */
import type { AddressProgram } from "./address-program.ts";
import type { CodeMap } from "./code-bytes.ts";
import { nearAddresses } from "./near-addresses.ts";

export interface NearFinder {
  /** @param ip exact below 2^53; null where the code there is of no file */
  find(pid: number, ip: number): AddressProgram | null;
  /** Drops what was found for a process whose code changed. */
  forget(pid: number): void;
}

/** Places of code that are no exact numbers, or the kernel's. */
const CODE_LIMIT = 2 ** 53;
/** A process whose code is made anew without end does not fill the memory. */
const MOST_PLACES = 1 << 14;
const NOTHING = new Uint8Array(0);

export function createNearFinder(code: Pick<CodeMap, "locate">): NearFinder {
  const processes = new Map<number, Map<number, AddressProgram | null>>();

  function look(pid: number, ip: number): AddressProgram | null {
    const place = code.locate(pid, ip);
    if (place === null) return null;
    const { object, vaddr } = place;
    const { start, end } = object.elf.functionStarts()?.at(vaddr) ?? { start: vaddr, end: null };
    const read = (offset: number, length: number): Uint8Array => {
      const from = object.elf.fileOffset(vaddr + offset);
      return from === null ? NOTHING : object.bytes.slice(from, length);
    };
    return nearAddresses(read, { before: vaddr - start, behind: end === null ? null : end - vaddr });
  }

  return {
    find(pid, ip) {
      if (ip >= CODE_LIMIT) return null;
      let places = processes.get(pid);
      if (places === undefined || places.size >= MOST_PLACES) {
        places = new Map();
        processes.set(pid, places);
      }
      let found = places.get(ip);
      if (found === undefined) {
        found = look(pid, ip);
        places.set(ip, found);
      }
      return found;
    },
    forget(pid) {
      processes.delete(pid);
    },
  };
}

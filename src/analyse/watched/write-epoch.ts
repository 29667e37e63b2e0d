/** What one watch shows of the data in its bytes: when it was written, and how long it was read after that. */

import { OP } from "../../schema/operation.ts";
import type { Exposure } from "./exposure.ts";

/** What one write pass wrote, as far as it was seen. */
export interface WriteEpoch {
  /** Number of the pass. */
  readonly pass: number;
  /** Its last store, ns. */
  readonly write_ns: number;
  /** Write to the last read that was seen before the next write, ns; 0 where none was. */
  readonly need_ns: number;
  /** Traps from that store on, without that of the read: so often the program stood still in it. */
  readonly traps: number;
  /** Read passes over it, that before the next write too. */
  readonly reads: number;
  /** Write to the first store of the next write, or to the free; how long it was seen where neither was. */
  readonly seen_ns: number;
  /** True where the next write or the free was seen: the need is then all of it. */
  readonly isWhole: boolean;
}

/** A read pass, and how long before it the last write lay. */
export interface AgedRead {
  readonly pass: number;
  /** Age of what it read; of a write before the exposure, how long the exposure had lasted. */
  readonly age_ns: number;
  /** Traps in it, as of a need. */
  readonly traps: number;
  readonly isKnown: boolean;
}

export interface WriteHistory {
  readonly epochs: readonly WriteEpoch[];
  readonly reads: readonly AgedRead[];
}

/**
 * Walks the passes of an exposure. The data of a write pass begins with its last store; reads before its first store
 * are of the data before; an instruction that reads and writes reads the old and writes the new.
 */
export function writeHistory(exposure: Exposure): WriteHistory {
  const { hit_ns, hit_op } = exposure.watch;
  const { passes } = exposure;
  const epochs: WriteEpoch[] = [];
  const reads: AgedRead[] = [];
  let writtenBy = -1;
  let written = Number.NaN;
  let lastRead = Number.NaN;
  /** Numbers of the hits at which was written, and last read. */
  let writtenHit = exposure.from;
  let lastReadHit = -1;
  let readPasses = 0;
  const close = (end_ns: number, isWhole: boolean): void => {
    if (writtenBy < 0) return;
    const need_ns = lastRead > written ? lastRead - written : 0;
    const traps = need_ns > 0 ? lastReadHit - writtenHit : 0;
    const seen_ns = Math.max(end_ns - written, need_ns);
    epochs.push({ pass: writtenBy, write_ns: written, need_ns, traps, reads: readPasses, seen_ns, isWhole });
  };
  const read = (pass: number, hit: number): void => {
    const time = hit_ns[hit] ?? 0;
    const isKnown = writtenBy >= 0;
    const age_ns = time - (isKnown ? written : exposure.begin_ns);
    reads.push({ pass, age_ns, traps: hit - writtenHit, isKnown });
  };
  let hit = exposure.from;
  for (let p = 0; p < passes.count; p++) {
    const from = hit;
    hit += passes.hits[p] ?? 0;
    let firstStore = -1;
    let lastStore = -1;
    let readBefore = -1;
    let readAfter = -1;
    let lastReadAfter = -1;
    for (let i = from; i < hit; i++) {
      const op = hit_op[i];
      if (op === OP.load || op === OP.load_store) {
        if (firstStore < 0) readBefore = readBefore < 0 ? i : readBefore;
        if (firstStore >= 0 && op === OP.load) {
          if (readAfter < 0) readAfter = i;
          lastReadAfter = i;
        }
        if (firstStore < 0) {
          lastRead = hit_ns[i] ?? 0;
          lastReadHit = i;
        }
      }
      if (op === OP.store || op === OP.load_store) {
        if (firstStore < 0) firstStore = i;
        lastStore = i;
        readAfter = -1;
        lastReadAfter = -1;
      }
    }
    if (readBefore >= 0) {
      read(p, readBefore);
      readPasses += 1;
    }
    if (firstStore >= 0) {
      close(hit_ns[firstStore] ?? 0, true);
      writtenBy = p;
      written = hit_ns[lastStore] ?? 0;
      writtenHit = lastStore;
      lastRead = Number.NaN;
      readPasses = 0;
    }
    if (readAfter >= 0) {
      readPasses += 1;
      if (readBefore < 0) read(p, readAfter);
      lastRead = hit_ns[lastReadAfter] ?? 0;
      lastReadHit = lastReadAfter;
    }
  }
  const isFreed = !Number.isNaN(exposure.freed_ns);
  close(isFreed && !exposure.byTrap ? exposure.freed_ns : exposure.end_ns, isFreed && !exposure.byTrap);
  return { epochs, reads };
}

/** Share of the hits of which neither read nor write is known. */
export function unknownShare(exposures: readonly Exposure[]): number {
  let hits = 0;
  let unknown = 0;
  for (const { watch, from, to: end } of exposures) {
    hits += end - from;
    for (let i = from; i < end; i++) if (watch.hit_op[i] === OP.unknown) unknown += 1;
  }
  return hits > 0 ? unknown / hits : 0;
}

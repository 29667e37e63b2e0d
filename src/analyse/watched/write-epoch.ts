/** What one watch shows of the data in its bytes: when it was written, and how long it was read after that. */

import { OP } from "../../schema/operation.ts";
import type { UnitTimes } from "../../statistics/recurrent-survival.ts";
import type { Exposure } from "./exposure.ts";

export interface WriteHistory {
  /** Write passes: the last store of each, ns. */
  readonly writes: readonly number[];
  /** Write to last read: complete where the data was overwritten or freed; 0 for a write that nobody read. */
  readonly retention: UnitTimes;
  /** Last write to read, one per read pass; censored where the write came before the exposure. */
  readonly ages: UnitTimes;
}

/**
 * Walks the passes of an exposure. The data of a write pass begins with its last store; reads before its first store
 * are of the data before; an instruction that reads and writes reads the old and writes the new. The need of data whose
 * end was not seen goes on at least to its last read seen: right-censored there.
 */
export function writeHistory(exposure: Exposure): WriteHistory {
  const { hit_ns, hit_op } = exposure.watch;
  const { passes } = exposure;
  const writes: number[] = [];
  const retained: number[] = [];
  const ages: number[] = [];
  const agesOver: number[] = [];
  let written = Number.NaN;
  let lastRead = Number.NaN;
  const read = (time: number): void => {
    lastRead = time;
    if (Number.isNaN(written)) agesOver.push(time - exposure.begin_ns);
    else ages.push(time - written);
  };
  const need = (): number => (lastRead > written ? lastRead - written : 0);
  let hit = exposure.from;
  for (let p = 0; p < passes.count; p++) {
    const from = hit;
    hit += passes.hits[p] ?? 0;
    let firstStore = -1;
    let lastStore = -1;
    let readBefore = -1;
    let readAfter = -1;
    for (let i = from; i < hit; i++) {
      const op = hit_op[i];
      if (op === OP.load || op === OP.load_store) {
        if (firstStore < 0 && readBefore < 0) readBefore = i;
        if (firstStore >= 0 && op === OP.load && readAfter < 0) readAfter = i;
      }
      if (op === OP.store || op === OP.load_store) {
        if (firstStore < 0) firstStore = i;
        lastStore = i;
        readAfter = -1;
      }
    }
    if (readBefore >= 0) read(hit_ns[readBefore] ?? 0);
    if (firstStore >= 0) {
      if (!Number.isNaN(written)) retained.push(need());
      written = hit_ns[lastStore] ?? 0;
      lastRead = Number.NaN;
      writes.push(written);
    }
    if (readAfter >= 0) read(hit_ns[readAfter] ?? 0);
  }
  const open: number[] = [];
  if (!Number.isNaN(written)) {
    if (!Number.isNaN(exposure.freed_ns)) retained.push(need());
    else if (retained.length === 0) open.push(need());
  }
  return {
    writes,
    retention: { complete: retained, censored: open },
    ages: { complete: ages, censored: agesOver },
  };
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

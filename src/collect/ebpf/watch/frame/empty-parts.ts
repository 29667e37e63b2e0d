/** Large parts of mappings in which nothing is in memory: draws leave them out, as each try there would be in vain. */
import { monotonicNs } from "../../../../kernel/libc.ts";
import { urgently } from "../../../../kernel/urgent.ts";
import type { MappingRow } from "../../../../regions/mapping-row.ts";
import { outside, type Range } from "./ranges.ts";
import type { Residency } from "./residency.ts";

const MIB = 1 << 20;
/** What one page table holds: a smaller hole saves no question. */
const LEAST_BLOCK_BYTES = 2 * MIB;
/** A look asks for this many blocks, whatever is mapped, and for the holes between them. */
const MOST_BLOCKS = 1024;
/** How far one question may go: it holds the lock for longest where page tables are there and empty. */
const REACH_BYTES = 128n * BigInt(MIB);
/** Least time between two looks, and how many times as long as the quicker one of the last two took it is at least: the first is slow by itself. */
const EVERY_NS = 1_000_000_000;
const PAUSE = 1000;
/** Where more than this share of the bytes may have something, all are drawn from: tries are cheap, and what comes between two looks is not missed. */
const FEW_FILLED = 1 / 64;

export interface EmptyParts {
  /** Looks again if it is time, at the mappings of each process from which draws are made, in order of address. */
  lookAgain(rows: ReadonlyMap<number, readonly MappingRow[]>): void;
  /** The parts of a mapping that may have something in memory. */
  filled(row: MappingRow): Range[];
}

/** Size of the parts that are told apart: such that all that is mapped has at most `MOST_BLOCKS` of them. */
export function blockBytes(mappedBytes: number): number {
  return Math.max(LEAST_BLOCK_BYTES, 2 ** Math.ceil(Math.log2(Math.max(1, mappedBytes / MOST_BLOCKS))));
}

/** The parts of a mapping, up to blocks that are not empty; none where the kernel cannot say. */
export function emptyPartsOf(row: MappingRow, block: number, residency: Pick<Residency, "firstResident">): Range[] {
  const size = BigInt(block);
  const end = row.addr + row.size_bytes;
  const empty: Range[] = [];
  let from = row.addr;
  let asked = from;
  while (asked < end) {
    const reach = asked + REACH_BYTES < end ? asked + REACH_BYTES : end;
    const first = residency.firstResident(row.pid, asked, reach);
    if (first === null) return [];
    if (first >= reach) {
      asked = reach;
      continue;
    }
    const filled = first - (first % size);
    if (filled > from) empty.push({ from, to: filled });
    asked = filled + size;
    from = asked;
  }
  if (end > from) empty.push({ from, to: end });
  return empty;
}

/** @param nowNs CLOCK_MONOTONIC */
export function createEmptyParts(residency: Pick<Residency, "firstResident">, nowNs = monotonicNs): EmptyParts {
  /** By process, in order of address. */
  const empty = new Map<number, Range[]>();
  let lookedNs = 0n;
  let nextNs = 0n;
  let tookNs = 0;
  return {
    lookAgain(rows) {
      const beginNs = nowNs();
      if (beginNs < nextNs) return;
      lookedNs = beginNs;
      empty.clear();
      const all = [...rows.values()].flat();
      const bytes = all.reduce((sum, { size_bytes }) => sum + Number(size_bytes), 0);
      const block = blockBytes(bytes);
      for (const [pid, ofProcess] of rows) {
        const large = ofProcess.filter(({ size_bytes }) => size_bytes >= 2 * block);
        const parts = urgently(() => large.flatMap((row) => emptyPartsOf(row, block, residency)));
        if (parts.length > 0) empty.set(pid, parts);
      }
      const left = bytes - [...empty.values()].flat().reduce((sum, { from, to: end }) => sum + Number(end - from), 0);
      if (left > FEW_FILLED * bytes) empty.clear();
      const took = Number(nowNs() - beginNs);
      nextNs = beginNs + BigInt(Math.max(EVERY_NS, PAUSE * Math.min(took, tookNs)));
      tookNs = took;
    },
    filled(row) {
      const whole = { from: row.addr, to: row.addr + row.size_bytes };
      // What came to this address since the look is not known yet.
      const parts = row.since_ns < lookedNs ? empty.get(row.pid) : undefined;
      return parts === undefined ? [whole] : outside(whole, parts);
    },
  };
}

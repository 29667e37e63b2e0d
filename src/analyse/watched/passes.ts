/** Hits on one watch that belong to one pass of a kernel over the tensor, merged. */
import { OP } from "../../schema/operation.ts";

/** Hits closer than this belong to one pass, whatever a trap costs. */
const FLOOR_NS = 50_000;
/** Hits closer than so many traps may be apart only because of the traps between them. */
const TRAPS = 3;

/**
 * The gap that separates passes: max(50 us, 3 trap costs). A kernel that loads some bytes twice does so 17 to 20 us
 * apart under traps of 16 us; the shortest use of one address by two operators was 180 us.
 * @param trapCostNs calibrated cost of a trap, null where it is not known
 */
export function passGapNs(trapCostNs: number | null): number {
  return Math.max(FLOOR_NS, TRAPS * (trapCostNs ?? 0));
}

/**
 * Passes in order of time; one entry per pass in every array. Read only: what many watches have alike they share, as a typed array takes far more
 * than the few numbers of a watch.
 */
export interface Passes {
  readonly count: number;
  /** First hit, ns since the start of the run. */
  readonly start_ns: Float64Array;
  /** Last hit. */
  readonly end_ns: Float64Array;
  readonly hits: Uint32Array;
  /** Hits that read, that wrote, and of which neither is known; one that did both counts in both. */
  readonly reads: Uint32Array;
  readonly writes: Uint32Array;
  readonly unknown: Uint32Array;
}

/** Columns of so many entries at most are shared. */
const MOST_SHARED = 256;

/** Columns of the same numbers, by how many there are. @param fill makes them of zeros */
function sharedColumns(fill: (zeros: Uint32Array) => Uint32Array): (count: number) => Uint32Array {
  const found: Uint32Array[] = [];
  return (count) => {
    const column = found[count] ?? fill(new Uint32Array(count));
    if (count <= MOST_SHARED) found[count] = column;
    return column;
  };
}

const zeros = sharedColumns((column) => column);
const ones = sharedColumns((column) => column.fill(1));
/** The numbers from 0 up. */
export const firstNumbers = sharedColumns((column) => column.map((_, i) => i));

const isRead = (kind: number | undefined): boolean => kind === OP.load || kind === OP.load_store;
const isWrite = (kind: number | undefined): boolean => kind === OP.store || kind === OP.load_store;

/**
 * Merges runs of hits, each closer than `gapNs` to the one before it.
 * @param time hits in order of time, ns; may be kept as the passes' own
 * @param op values of OP, one per hit
 * @param from first hit taken
 * @param end hit after the last taken
 */
export function mergePasses(time: Float64Array, op: Uint8Array, gapNs: number, from = 0, end = time.length): Passes {
  let count = 0;
  let [hasReads, hasWrites, hasUnknown] = [false, false, false];
  for (let i = from; i < end; i++) {
    if (i === from || (time[i] ?? 0) - (time[i - 1] ?? 0) >= gapNs) count += 1;
    const kind = op[i];
    if (isRead(kind)) hasReads = true;
    if (isWrite(kind)) hasWrites = true;
    if (kind === OP.unknown) hasUnknown = true;
  }
  const isEachOne = count === Math.max(0, end - from);
  const start_ns = isEachOne && count === time.length ? time : new Float64Array(count);
  const end_ns = isEachOne ? start_ns : new Float64Array(count);
  const hits = isEachOne ? ones(count) : new Uint32Array(count);
  const reads = hasReads ? new Uint32Array(count) : zeros(count);
  const writes = hasWrites ? new Uint32Array(count) : zeros(count);
  const unknown = hasUnknown ? new Uint32Array(count) : zeros(count);
  let pass = -1;
  for (let i = from; i < end; i++) {
    const t = time[i] ?? 0;
    if (i === from || t - (time[i - 1] ?? 0) >= gapNs) {
      pass += 1;
      if (start_ns !== time) start_ns[pass] = t;
    }
    if (!isEachOne) {
      end_ns[pass] = t;
      hits[pass] = (hits[pass] ?? 0) + 1;
    }
    const kind = op[i];
    if (isRead(kind)) reads[pass] = (reads[pass] ?? 0) + 1;
    if (isWrite(kind)) writes[pass] = (writes[pass] ?? 0) + 1;
    if (kind === OP.unknown) unknown[pass] = (unknown[pass] ?? 0) + 1;
  }
  return { count, start_ns, end_ns, hits, reads, writes, unknown };
}

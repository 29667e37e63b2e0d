/** Accesses by address and time in bounded memory: blocks and bins of time double as soon as there are too many. */
import { OP } from "../../schema/operation.ts";

/** Blocks of one class as one source saw it, and bins of time: at most so many. */
const MOST_BLOCKS = 128;
export const TIME_BINS = 192;
const SLOTS = 4 * MOST_BLOCKS;
/** A page: no block is smaller. */
const FIRST_SHIFT = 12;
const LAST_SHIFT = 64;
/** With more processes than this their blocks are put together by address. */
const MOST_PROCESSES = 16;
const WORD = 2 ** 32;

/** What stands for several processes, or several regions, in a block; and for the region of a block in which no row fell. */
export const SEVERAL = 0xffff_ffff;
export const NO_ROW = 0xffff_fffe;

/**
 * What is summed of a cell, and where: side by side, as a row adds to several of them. `rows` are counted; accesses are by
 * operation, one that did both in both; `watched_ns` is the time for which words of the block were looked at.
 */
export const CELL = { rows: 0, loads: 1, stores: 2, unknown: 3, watched_ns: 4, size: 5 } as const;

/** One class as one source saw it. */
export interface HeatPlane {
  readonly kind: number;
  readonly source: number;
  /** Blocks have 2 ** shift bytes. */
  readonly shift: number;
  readonly count: number;
  /** Address over the size of a block, and the process; SEVERAL where there were too many. */
  readonly block: Float64Array;
  readonly pid: Uint32Array;
  /** Number of the region in which all rows of the block fell, 0 for none; SEVERAL where they did not agree, NO_ROW where there was none. */
  readonly region: Uint32Array;
  /** Block by block, TIME_BINS cells of each, with the sums of CELL. */
  readonly sums: Float64Array;
}

export interface Heat {
  /** Length of a bin of time, ns. */
  readonly bin_ns: number;
  readonly planes: readonly HeatPlane[];
}

export interface HeatSums extends Heat {
  /**
   * Takes an access.
   * @param kind number of the class, below 8
   * @param source number of the source, below 4096
   * @param low of the address; `high` its upper 32 bits
   * @param time_ns since the origin
   * @param op a value of OP
   * @param accesses that it stands for
   */
  add(
    kind: number,
    source: number,
    pid: number,
    region: number,
    low: number,
    high: number,
    time_ns: number,
    op: number,
    accesses: number,
  ): void;
  /** Takes the time for which a word was looked at. */
  watch(kind: number, source: number, pid: number, address: number, begin_ns: number, end_ns: number): void;
}

/** Sums of a block. */
const BLOCK_SUMS = TIME_BINS * CELL.size;

interface Plane extends HeatPlane {
  shift: number;
  /** 2 ** -shift, exactly. */
  perByte: number;
  count: number;
  /** False once blocks of all processes are put together. */
  apart: boolean;
  /** Place of each block in the columns and 1, by its hash. */
  readonly slots: Uint16Array;
  /** The block of the row before. */
  lastBlock: number;
  lastPid: number;
  last: number;
}

function planeOf(kind: number, source: number): Plane {
  return {
    kind,
    source,
    shift: FIRST_SHIFT,
    perByte: 2 ** -FIRST_SHIFT,
    count: 0,
    apart: true,
    block: new Float64Array(MOST_BLOCKS),
    pid: new Uint32Array(MOST_BLOCKS),
    region: new Uint32Array(MOST_BLOCKS),
    sums: new Float64Array(MOST_BLOCKS * BLOCK_SUMS),
    slots: new Uint16Array(SLOTS),
    lastBlock: -1,
    lastPid: -1,
    last: 0,
  };
}

function slotOf(plane: Plane, block: number, pid: number): number {
  let slot = (Math.imul(block | 0, 0x9e3779b1) ^ Math.imul(pid, 0x85ebca6b)) >>> 23;
  for (; ; slot = (slot + 1) % SLOTS) {
    const place = plane.slots[slot] as number;
    if (place === 0) return slot;
    if (plane.block[place - 1] === block && plane.pid[place - 1] === pid) return slot;
  }
}

/** The region of rows of which some fell in one and the others in another. */
function agreed(one: number, other: number): number {
  if (one === other || other === NO_ROW) return one;
  return one === NO_ROW ? other : SEVERAL;
}

/** Puts every block where the larger block lies that holds it. */
function regroup(plane: Plane, blockOf: (block: number) => number, pidOf: (pid: number) => number): void {
  const { count, block, pid, region, sums } = plane;
  plane.slots.fill(0);
  plane.count = 0;
  plane.lastBlock = -1;
  for (let i = 0; i < count; i++) {
    const [larger, who] = [blockOf(block[i] as number), pidOf(pid[i] as number)];
    const slot = slotOf(plane, larger, who);
    const found = plane.slots[slot] as number;
    const place = found === 0 ? plane.count++ : found - 1;
    if (found === 0) {
      plane.slots[slot] = place + 1;
      block[place] = larger;
      pid[place] = who;
      region[place] = region[i] as number;
    } else region[place] = agreed(region[place] as number, region[i] as number);
    if (place === i) continue;
    const [target, from] = [place * BLOCK_SUMS, i * BLOCK_SUMS];
    for (let k = 0; k < BLOCK_SUMS; k++) {
      const before = found === 0 ? 0 : (sums[target + k] as number);
      sums[target + k] = before + (sums[from + k] as number);
      sums[from + k] = 0;
    }
  }
}

/** Makes room for another block. */
function coarsen(plane: Plane): void {
  if (plane.apart && new Set(plane.pid.subarray(0, plane.count)).size > MOST_PROCESSES) {
    plane.apart = false;
    regroup(
      plane,
      (block) => block,
      () => SEVERAL,
    );
  }
  while (plane.count >= MOST_BLOCKS && plane.shift < LAST_SHIFT) {
    plane.shift += 1;
    plane.perByte /= 2;
    regroup(
      plane,
      (block) => Math.floor(block / 2),
      (pid) => pid,
    );
  }
}

/** Place of a block in the columns of its plane; a new one is made at once. */
function placeOf(plane: Plane, address: number, process: number): number {
  const wanted = Math.floor(address * plane.perByte);
  const pid = plane.apart ? process : SEVERAL;
  if (wanted === plane.lastBlock && pid === plane.lastPid) return plane.last;
  const slot = slotOf(plane, wanted, pid);
  const found = plane.slots[slot] as number;
  if (found === 0) {
    if (plane.count >= MOST_BLOCKS) {
      coarsen(plane);
      return placeOf(plane, address, process);
    }
    plane.block[plane.count] = wanted;
    plane.pid[plane.count] = pid;
    plane.region[plane.count] = NO_ROW;
    plane.slots[slot] = ++plane.count;
  }
  plane.lastBlock = wanted;
  plane.lastPid = pid;
  plane.last = (found === 0 ? plane.count : found) - 1;
  return plane.last;
}

/** Adds the sums of bins 2k and 2k + 1 as bin k. */
function foldTime({ sums, count }: Plane): void {
  for (let place = 0; place < count; place++) {
    const from = place * BLOCK_SUMS;
    for (let bin = 0; bin < TIME_BINS / 2; bin++) {
      const target = from + bin * CELL.size;
      const pair = from + 2 * bin * CELL.size;
      for (let k = 0; k < CELL.size; k++) {
        sums[target + k] = (sums[pair + k] as number) + (sums[pair + CELL.size + k] as number);
      }
    }
    sums.fill(0, from + BLOCK_SUMS / 2, from + BLOCK_SUMS);
  }
}

/** @param firstBinNs length of the first bins of time: where the run is no longer than TIME_BINS of them they stay so */
export function heatSums(firstBinNs: number): HeatSums {
  const planes: Plane[] = [];
  /** By class and source. */
  const numbers = new Map<number, Plane>();
  let binNs = firstBinNs;
  /** The bin of the row before: rows come in order of time, nearly. */
  let bin = 0;
  let binBegin = 0;
  let binEnd = firstBinNs;
  let lastKey = -1;
  let lastPlane: Plane | undefined;

  function planeFor(kind: number, source: number): Plane {
    const key = kind + 8 * source;
    if (key === lastKey && lastPlane !== undefined) return lastPlane;
    let plane = numbers.get(key);
    if (plane === undefined) {
      plane = planeOf(kind, source);
      planes.push(plane);
      numbers.set(key, plane);
    }
    lastKey = key;
    lastPlane = plane;
    return plane;
  }

  function binOf(time_ns: number): number {
    if (time_ns >= binBegin && time_ns < binEnd) return bin;
    while (time_ns >= binNs * TIME_BINS) {
      for (const plane of planes) foldTime(plane);
      binNs *= 2;
    }
    bin = time_ns > 0 ? Math.floor(time_ns / binNs) : 0;
    binBegin = bin * binNs;
    binEnd = binBegin + binNs;
    return bin;
  }

  return {
    get bin_ns() {
      return binNs;
    },
    planes,
    add(kind, source, pid, region, low, high, time_ns, op, accesses) {
      const column = binOf(time_ns);
      const plane = planeFor(kind, source);
      const place = placeOf(plane, low + high * WORD, pid);
      const cell = (place * TIME_BINS + column) * CELL.size;
      const { sums } = plane;
      const before = plane.region[place] as number;
      if (before !== region) plane.region[place] = agreed(before, region);
      sums[cell] = (sums[cell] as number) + 1;
      const isBoth = op === OP.load_store;
      if (op === OP.load || isBoth) sums[cell + CELL.loads] = (sums[cell + CELL.loads] as number) + accesses;
      if (op === OP.store || isBoth) sums[cell + CELL.stores] = (sums[cell + CELL.stores] as number) + accesses;
      if (op === OP.unknown) sums[cell + CELL.unknown] = (sums[cell + CELL.unknown] as number) + accesses;
    },
    watch(kind, source, pid, address, begin_ns, end_ns) {
      const last = binOf(end_ns);
      const plane = planeFor(kind, source);
      const from = placeOf(plane, address, pid) * BLOCK_SUMS + CELL.watched_ns;
      for (let column = binOf(begin_ns); column <= last; column++) {
        const seen = Math.min(end_ns, (column + 1) * binNs) - Math.max(begin_ns, column * binNs);
        const cell = from + column * CELL.size;
        if (seen > 0) plane.sums[cell] = (plane.sums[cell] as number) + seen;
      }
    },
  };
}

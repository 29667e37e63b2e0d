/** Pairs allocations with their frees, in the order of the file: bytes that live, their peak, and a row for each life. */
import { createIntervalMap, type Stamped } from "../../regions/interval-map.ts";
import { FREE, MMAP, MUNMAP, PYMALLOC_FREE } from "./format/allocator.ts";
import type { RecordChunk } from "./format/record-chunk.ts";
import { type AllocationSums, type FunctionSums, openFunctionSums } from "./function-sums.ts";
import { ALIVE, FREED, type LifetimeRows, REPLACED, UNMAPPED, UNPAIRED } from "./lifetime-rows.ts";
import { type Born, emptyBorn, type LiveTable, openLiveTable } from "./live-table.ts";

/** As many mappings as a process may have (vm.max_map_count), so that a search stays short. */
const MAX_RANGES = 1 << 16;
/** Keys of the map of ranges are exact below this. */
const MAX_KEY = 2 ** 53;

/** What was seen, in exact figures. */
export interface LifetimeTotals extends AllocationSums {
  /** Allocations and frees. */
  readonly records: number;
  /** By the index of ALLOCATORS. */
  readonly byAllocator: readonly AllocationSums[];
  /** Number of the record after which the peak was reached last. */
  readonly peakOrder: number;
  /** Frees and unmappings of what was never seen to be allocated. */
  readonly foreignFrees: number;
  /** Allocations at an address that was still alive. */
  readonly replaced: number;
  /** Allocations that were not followed, since too many were alive. */
  readonly unpaired: number;
  /** Records of a function that this reader does not know. */
  readonly unknownKind: number;
}

export interface Lifetimes {
  readonly liveBytes: number;
  readonly liveAllocations: number;
  /** Pairs records `from ..` of a chunk while rows have room; returns the record to go on with when they have again. */
  take(chunk: RecordChunk, from: number, interval: number): number;
  /** Writes rows of what is alive, as many as find room; true when all are written. */
  finish(): boolean;
  halveIntervals(): void;
  totals(): LifetimeTotals;
}

interface Mapped extends Stamped {
  readonly born: Readonly<Born>;
}

/** Sums by function; mappings are counted by their map, as an unmapping may cut one in two. */
function allocatorSums(functions: FunctionSums, mappings: number): AllocationSums[] {
  return functions.totals().map((sums, kind) => (kind === MMAP ? { ...sums, liveAllocations: mappings } : sums));
}

/** An unmapping may end this many mappings at once and each of them needs a row. */
interface Ending {
  readonly born: Born;
  readonly ending: number;
  readonly interval: number;
  readonly order: number;
}

/** Nothing is alive; rows go to `rows`. */
export function openLifetimes(rows: LifetimeRows, live: LiveTable = openLiveTable()): Lifetimes {
  const ranges = createIntervalMap<Mapped>();
  const functions = openFunctionSums();
  const born = emptyBorn();
  const died = emptyBorn();
  /** Rows that found no room yet, newest last. */
  const waiting: Ending[] = [];
  let records = 0;
  let allocations = 0;
  let allocatedBytes = 0;
  let liveBytes = 0;
  let peakBytes = 0;
  let peakOrder = 0;
  let foreignFrees = 0;
  let replaced = 0;
  let unpaired = 0;
  let unknownKind = 0;
  let finishing = false;

  function write(life: Born, ending: number, interval: number, order: number): void {
    if (!rows.full) rows.add(life, ending, interval, order);
    else waiting.push({ born: { ...life }, ending, interval, order });
  }

  function drain(): boolean {
    while (waiting.length > 0 && !rows.full) {
      const next = waiting.pop();
      if (next) rows.add(next.born, next.ending, next.interval, next.order);
    }
    return waiting.length === 0;
  }

  /** Ends what is mapped in a range; returns how many bytes that were. */
  function unmap(from: number, stop: number, ending: number, interval: number, next: Mapped | undefined): number {
    let bytes = 0;
    ranges.amend(from, stop, (old, start, end) => {
      if (old !== undefined) {
        bytes += end - start;
        functions.end(MMAP, end - start, 0);
        write({ ...old.born, address: start, size: end - start }, ending, interval, records);
      }
      return next;
    });
    return bytes;
  }

  function map(interval: number): void {
    const until = born.address + born.size;
    if (born.size === 0) {
      write(born, UNMAPPED, interval, records);
      return;
    }
    if (until >= MAX_KEY || ranges.size >= MAX_RANGES) {
      giveUp();
      return;
    }
    const bytes = unmap(born.address, until, REPLACED, interval, {
      since_ns: 0n,
      observed: false,
      born: { ...born },
    });
    if (bytes > 0) replaced += 1;
    liveBytes += born.size - bytes;
    functions.begin(MMAP, born.size, 0);
  }

  function giveUp(): void {
    unpaired += 1;
    write(born, UNPAIRED, 0, 0);
  }

  function allocate(interval: number): void {
    if (live.remove(born.address, died)) {
      replaced += 1;
      liveBytes -= died.size;
      functions.end(died.allocator, died.size, 1);
      write(died, REPLACED, interval, records);
    }
    if (live.add(born)) {
      liveBytes += born.size;
      functions.begin(born.allocator, born.size, 1);
    } else giveUp();
  }

  return {
    get liveBytes() {
      return liveBytes;
    },
    get liveAllocations() {
      return live.count + ranges.size;
    },
    take(chunk, from, interval) {
      const { allocator, address, size, thread, stack, native, count } = chunk;
      let i = from;
      drain();
      for (; i < count && !rows.full; i++) {
        const kind = allocator[i] ?? 0;
        const first = address[i] ?? 0;
        if (kind === FREE || kind === PYMALLOC_FREE) {
          if (live.remove(first, died)) {
            liveBytes -= died.size;
            functions.end(died.allocator, died.size, 1);
            rows.add(died, FREED, interval, records);
          } else foreignFrees += 1;
        } else if (kind === MUNMAP) {
          const bytes = unmap(first, Math.min(MAX_KEY, first + (size[i] ?? 0)), UNMAPPED, interval, undefined);
          if (bytes === 0) foreignFrees += 1;
          liveBytes -= bytes;
        } else if (kind === 0) {
          unknownKind += 1;
        } else {
          born.address = first;
          born.size = size[i] ?? 0;
          born.allocator = kind;
          born.thread = thread[i] ?? 0;
          born.stack = stack[i] ?? 0;
          born.native = native[i] ?? 0;
          born.interval = interval;
          born.order = records;
          allocations += 1;
          allocatedBytes += born.size;
          functions.count(kind, born.size);
          if (kind === MMAP) map(interval);
          else allocate(interval);
        }
        if (liveBytes >= peakBytes) {
          peakBytes = liveBytes;
          peakOrder = records;
        }
        records += 1;
      }
      return i;
    },
    finish() {
      if (!finishing) {
        finishing = true;
        ranges.each(0, MAX_KEY, ({ born: owner }, start, end) => {
          waiting.push({ born: { ...owner, address: start, size: end - start }, ending: ALIVE, interval: 0, order: 0 });
        });
      }
      if (!drain()) return false;
      while (!rows.full) {
        if (!live.next(died)) return true;
        rows.add(died, ALIVE, 0, 0);
      }
      return false;
    },
    halveIntervals() {
      live.halveIntervals();
      rows.halveIntervals();
    },
    totals: () => ({
      records,
      allocations,
      allocatedBytes,
      byAllocator: allocatorSums(functions, ranges.size),
      liveBytes,
      liveAllocations: live.count + ranges.size,
      peakBytes,
      peakOrder,
      foreignFrees,
      replaced,
      unpaired,
      unknownKind,
    }),
  };
}

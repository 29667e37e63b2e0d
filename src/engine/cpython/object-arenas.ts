/**
 * Where CPython keeps its small objects: arenas that its allocator asks of the system (Objects/obmalloc.c, 3.10 and later), cut
 * into pools that begin with a header. They are found by what lies there, so that no version's own offsets are needed:
 * the table of arenas has a pointer in the data of the program, and the first pool of each names the row of that table.
 */
import type { ReadMemory } from "../engine.ts";

/** Bytes of an arena, and of a pool of one, on machines of 64 bits (Include/internal/pycore_obmalloc.h). */
export const ARENA_BYTES = 1 << 20;
const POOL_BYTES = 1 << 14;
const POOLS = ARENA_BYTES / POOL_BYTES;
/** A row of the table: the address of the arena, of the first pool that nobody had yet, the pools that are free and all. */
const ROW = { bytes: 48, free: 16, pools: 20 } as const;
/** Rows that the first table has; a larger one has twice as many as the one before. */
const FIRST_ROWS = 16;
/** In the header of a pool: its arena's row, its class of sizes, and the last place where a block of it may begin. */
const POOL = { bytes: 48, arena: 32, size: 36, last: 44 } as const;
const BLOCK_STEP = 16;
const SIZES = 32;
/** Bytes of the program's data that one call of `search` reads, and how far from the runtime it goes in each direction. */
const CHUNK_BYTES = 1 << 14;
const REACH_BYTES = 4 << 20;
const LEAST_ADDRESS = 1n << 16n;
const END_ADDRESS = 1n << 47n;
/** More arenas than this are not told, 4 GiB of objects. */
export const MOST_ARENAS = 4096;

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

/** The address of an arena, page by page, where a row of the table may be one in use; 0 where nothing is in use; null for no row. */
function arenaIn(rows: DataView, row: number): bigint | null {
  const offset = row * ROW.bytes;
  const addr = rows.getBigUint64(offset, true);
  if (addr === 0n) return addr;
  const [free, pools] = [rows.getUint32(offset + ROW.free, true), rows.getUint32(offset + ROW.pools, true)];
  if (addr % 4096n !== 0n || addr < LEAST_ADDRESS || addr >= END_ADDRESS) return null;
  // One that does not begin where a pool may has a pool less.
  return pools === (addr % BigInt(POOL_BYTES) === 0n ? POOLS : POOLS - 1) && free <= pools ? addr : null;
}

/** True where the first pool of an arena says that it is of this row of the table. */
function isArena(read: ReadMemory, addr: bigint, row: number): boolean {
  const pool = BigInt(POOL_BYTES);
  const bytes = read(((addr + pool - 1n) / pool) * pool, POOL.bytes);
  if (bytes === null) return false;
  const header = viewOf(bytes);
  const size = header.getUint32(POOL.size, true);
  const last = POOL_BYTES - (size + 1) * BLOCK_STEP;
  return header.getUint32(POOL.arena, true) === row && size < SIZES && header.getUint32(POOL.last, true) === last;
}

/**
 * The arenas in use by the rows of a table.
 * @param before rows by what they held before, which need no other look
 * @returns null where no such table lies there
 */
function arenasAt(
  read: ReadMemory,
  table: bigint,
  before: ReadonlyMap<number, bigint>,
): ReadonlyMap<number, bigint> | null {
  const found = new Map<number, bigint>();
  let from = 0;
  for (let end = FIRST_ROWS; from < MOST_ARENAS; [from, end] = [end, 2 * end]) {
    const bytes = read(table + BigInt(from * ROW.bytes), (end - from) * ROW.bytes);
    const count = found.size;
    for (let row = from; bytes !== null && row < end; row++) {
      const addr = arenaIn(viewOf(bytes), row - from);
      const isMine = addr === 0n || (addr !== null && (before.get(row) === addr || isArena(read, addr, row)));
      // What lies behind the end of the table is none of it, and neither is all that begins with something else.
      if (!isMine || addr === null) return from === 0 ? null : found;
      if (addr !== 0n) found.set(row, addr);
    }
    if (found.size === count) break;
  }
  return found.size > 0 ? found : null;
}

export interface ObjectArenas {
  /** Looks on for the table, a part of the data of the program at a time. @returns false once there is no more to look at */
  search(): boolean;
  /** The arenas that are in use now, by address; null before the table was found, and where it cannot be read. */
  now(): ReadonlySet<bigint> | null;
}

/** @param runtime address of `_PyRuntime`, around which the data of the program lies */
export function objectArenas(read: ReadMemory, runtime: bigint): ObjectArenas {
  const chunk = BigInt(CHUNK_BYTES);
  const begin = runtime - (runtime % chunk);
  const steps = REACH_BYTES / CHUNK_BYTES;
  /** Chunks that are left: forwards, then backwards, each until one cannot be read. */
  let [forwards, backwards] = [0, 0];
  let slot: bigint | null = null;
  let last: ReadonlyMap<number, bigint> = new Map();

  function tryWords(from: bigint, bytes: Uint8Array): boolean {
    const words = viewOf(bytes);
    for (let offset = 0; offset + 8 <= bytes.length; offset += 8) {
      const table = words.getBigUint64(offset, true);
      // Memory that is given out begins at 16 bytes.
      if (table % 16n !== 0n || table < LEAST_ADDRESS || table >= END_ADDRESS) continue;
      const found = arenasAt(read, table, new Map());
      if (found === null) continue;
      slot = from + BigInt(offset);
      last = found;
      return true;
    }
    return false;
  }

  /** The pages of a chunk that can be read, one by one where not all of it can. */
  function tryChunk(from: bigint): boolean {
    const whole = read(from, CHUNK_BYTES);
    if (whole !== null) {
      tryWords(from, whole);
      return true;
    }
    let isThere = false;
    for (let addr = from; addr < from + chunk && slot === null; addr += 4096n) {
      const page = read(addr, 4096);
      if (page === null) continue;
      isThere = true;
      tryWords(addr, page);
    }
    return isThere;
  }

  return {
    search() {
      if (slot !== null) return false;
      if (forwards < steps) forwards = tryChunk(begin + BigInt(forwards) * chunk) ? forwards + 1 : steps;
      else if (backwards < steps) {
        backwards += 1;
        if (!tryChunk(begin - BigInt(backwards) * chunk)) backwards = steps;
      }
      return slot === null && backwards < steps;
    },
    now() {
      if (slot === null) return null;
      const bytes = read(slot, 8);
      const found = bytes === null ? null : arenasAt(read, viewOf(bytes).getBigUint64(0, true), last);
      if (found !== null) last = found;
      return found === null ? null : new Set(found.values());
    },
  };
}

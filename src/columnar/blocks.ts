/** Ring blocks, as the kernel programs publish them, become one batch by a few bulk copies per block. */
import { BLOCK_ROWS, type RingLayout, ringLayout } from "../schema/c-header.ts";
import { columnsOf, type TableName } from "../schema/columns.ts";
import type { Batch, NumberColumn } from "./batch.ts";

/** Copies of ring blocks, one after the other, each `ringLayout(table).blockBytes` long. */
export interface BlockArena {
  /** At least `blocks` blocks; begins at a multiple of 8 in its buffer. */
  readonly bytes: Uint8Array;
  readonly blocks: number;
  /** CPU of each block. */
  readonly cpus: ArrayLike<number>;
  /** Position that each block should have in the ring of its CPU, modulo 2^32. */
  readonly sequence: ArrayLike<number>;
}

/** What the blocks held. */
export interface BlockRows {
  readonly batch: Batch;
  /** Blocks left out because their header cannot be right: another position, or more rows than a block has. */
  readonly corruptBlocks: number;
  /** Rows those blocks should have held, at most. */
  readonly corruptRows: number;
}

type Numbers = BigUint64Array | Uint32Array | Uint16Array | Uint8Array;
const ARRAYS: Record<number, new (rows: number) => Numbers> = {
  1: Uint8Array,
  2: Uint16Array,
  4: Uint32Array,
  8: BigUint64Array,
};

/** Turns the blocks of one ring area into rows; its arrays are used again by the next call. */
export type BlockReader = (arena: BlockArena) => BlockRows;

/**
 * A reader of blocks of `table`. It gives the rows of all sound blocks, in the order of the blocks, good until its next
 * call; `cpu` is filled where the table has it outside the ring.
 *
 * Headers come from shared memory and are judged, never believed: a block whose position is not the expected one or
 * whose row count exceeds a block is counted and left out.
 */
export function blockReader(table: TableName): BlockReader {
  const layout = ringLayout(table);
  const hasCpu = columnsOf(table).some((column) => column.name === "cpu" && !column.ring);
  const arraysOf = (rows: number): Readonly<Record<string, Numbers>> => ({
    ...Object.fromEntries(layout.columns.map(({ name, width }) => [name, new (ARRAYS[width] ?? Uint8Array)(rows)])),
    ...(hasCpu ? { cpu: new Uint16Array(rows) } : {}),
  });
  let room = BLOCK_ROWS;
  let store = arraysOf(room);
  return (arena) => {
    const counts = soundRows(layout, arena);
    let rows = 0;
    let corruptBlocks = 0;
    for (const count of counts) {
      if (count < 0) corruptBlocks += 1;
      else rows += count;
    }
    if (rows > room) {
      // A busy ring gives more with every call for a while: doubling ends that soon.
      room = Math.max(rows, 2 * room);
      store = arraysOf(room);
    }
    for (const column of layout.columns) {
      const out = store[column.name];
      if (out !== undefined) gather(layout, column, arena, counts, out);
    }
    if (store.cpu !== undefined) fillCpus(arena, counts, store.cpu);
    const columns = Object.fromEntries(
      Object.entries(store).map(([name, data]): [string, NumberColumn] => [name, { data: data.subarray(0, rows) }]),
    );
    return { batch: { table, rows, columns }, corruptBlocks, corruptRows: corruptBlocks * BLOCK_ROWS };
  };
}

/** Rows of each block; -1 for one that is not sound or not wholly inside the arena. */
function soundRows(layout: RingLayout, arena: BlockArena): Int32Array {
  const counts = new Int32Array(arena.blocks).fill(-1);
  const whole = Math.min(arena.blocks, Math.floor(arena.bytes.length / layout.blockBytes));
  const words = new Uint32Array(arena.bytes.buffer, arena.bytes.byteOffset, arena.bytes.length >> 2);
  const wordsPerBlock = layout.blockBytes / 4;
  for (let block = 0; block < whole; block++) {
    const at = block * wordsPerBlock;
    const count = words[at + 2] ?? 0;
    const sound = words[at] === (arena.sequence[block] ?? 0) >>> 0 && count <= BLOCK_ROWS && words[at + 3] === 0;
    if (sound) counts[block] = count;
  }
  return counts;
}

function gather(
  layout: RingLayout,
  column: RingLayout["columns"][number],
  arena: BlockArena,
  counts: Int32Array,
  out: Numbers,
): void {
  const make = out.constructor as Uint8ArrayConstructor;
  const { buffer, byteOffset, length } = arena.bytes;
  const view = new make(buffer, byteOffset, Math.floor(length / column.width));
  let from = column.offset / column.width;
  const step = layout.blockBytes / column.width;
  let to = 0;
  for (const count of counts) {
    if (count > 0) {
      (out as Uint8Array).set(view.subarray(from, from + count), to);
      to += count;
    }
    from += step;
  }
}

function fillCpus(arena: BlockArena, counts: Int32Array, out: Numbers): void {
  let to = 0;
  for (const [block, count] of counts.entries()) {
    if (count <= 0) continue;
    (out as Uint16Array).fill(arena.cpus[block] ?? 0, to, to + count);
    to += count;
  }
}

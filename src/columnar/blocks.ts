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

/**
 * The rows of all sound blocks, in the order of the blocks; `cpu` is filled where the table has it outside the ring.
 *
 * Headers come from shared memory and are judged, never believed: a block whose position is not the expected one or
 * whose row count exceeds a block is counted and left out.
 */
export function batchFromBlocks(table: TableName, arena: BlockArena): BlockRows {
  const layout = ringLayout(table);
  const counts = soundRows(layout, arena);
  let rows = 0;
  let corruptBlocks = 0;
  for (const count of counts) {
    if (count < 0) corruptBlocks += 1;
    else rows += count;
  }
  const columns: Record<string, NumberColumn> = {};
  for (const column of layout.columns) {
    columns[column.name] = { data: gather(layout, column, arena, counts, rows) };
  }
  if (columnsOf(table).some((column) => column.name === "cpu" && !column.ring)) {
    columns.cpu = { data: fillCpus(arena, counts, rows) };
  }
  return { batch: { table, rows, columns }, corruptBlocks, corruptRows: corruptBlocks * BLOCK_ROWS };
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
  rows: number,
): Numbers {
  const make = ARRAYS[column.width] ?? Uint8Array;
  const out = new make(rows);
  const { buffer, byteOffset, length } = arena.bytes;
  const view = new (make as unknown as Uint8ArrayConstructor)(buffer, byteOffset, Math.floor(length / column.width));
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
  return out;
}

function fillCpus(arena: BlockArena, counts: Int32Array, rows: number): Uint16Array {
  const out = new Uint16Array(rows);
  let to = 0;
  for (const [block, count] of counts.entries()) {
    if (count <= 0) continue;
    out.fill(arena.cpus[block] ?? 0, to, to + count);
    to += count;
  }
  return out;
}

/** Rows of ring blocks, as the kernel programs wrote them, become one batch by one bulk copy per block and column. */
import { BLOCK_ROWS, type RingLayout, ringLayout } from "../schema/c-header.ts";
import { columnsOf, type TableName } from "../schema/columns.ts";
import type { Batch, NumberColumn } from "./batch.ts";

/** Ranges of rows in blocks, where these lie. */
export interface BlockRows {
  /** Memory with blocks in it, each `ringLayout(table).blockBytes` long; begins at a multiple of 8 in its buffer. */
  readonly bytes: Uint8Array;
  readonly pieces: number;
  /** Where in the memory the block of each piece begins, a multiple of 8. */
  readonly begin_bytes: ArrayLike<number>;
  /** CPU whose ring the block is in. */
  readonly cpu: ArrayLike<number>;
  /** First row of each piece, and the one behind its last; at most `BLOCK_ROWS`. */
  readonly from: ArrayLike<number>;
  readonly to: ArrayLike<number>;
}

type Numbers = BigUint64Array | Uint32Array | Uint16Array | Uint8Array;
const ARRAYS: Record<number, Uint8ArrayConstructor> = {
  1: Uint8Array,
  2: Uint16Array as unknown as Uint8ArrayConstructor,
  4: Uint32Array as unknown as Uint8ArrayConstructor,
  8: BigUint64Array as unknown as Uint8ArrayConstructor,
};

function arrayOf(width: number): Uint8ArrayConstructor {
  return ARRAYS[width] ?? Uint8Array;
}

/** Turns rows of blocks into a batch, in the order given, good until the next call. */
export type BlockReader = (rows: BlockRows) => Batch;

/** A reader of blocks of `table`; `cpu` is filled where the table has it outside the ring. */
export function blockReader(table: TableName): BlockReader {
  const layout = ringLayout(table);
  const hasCpu = columnsOf(table).some((column) => column.name === "cpu" && !column.ring);
  const arraysOf = (rows: number): Readonly<Record<string, Numbers>> => ({
    ...Object.fromEntries(layout.columns.map(({ name, width }) => [name, new (arrayOf(width))(rows)])),
    ...(hasCpu ? { cpu: new Uint16Array(rows) } : {}),
  });
  const gathers = layout.columns.map((column) => ({ name: column.name, gather: gatherer(column) }));
  let room = BLOCK_ROWS;
  let store = arraysOf(room);
  const batchOf = (rows: number): Batch => {
    const columns = Object.entries(store).map(([name, data]): [string, NumberColumn] => {
      return [name, { data: data.subarray(0, rows) }];
    });
    return { table, rows, columns: Object.fromEntries(columns) };
  };
  // Most polls find nothing in most rings.
  const nothing = batchOf(0);
  return (pieces) => {
    let rows = 0;
    for (let i = 0; i < pieces.pieces; i++) rows += (pieces.to[i] as number) - (pieces.from[i] as number);
    if (rows === 0) return nothing;
    if (rows > room) {
      // A busy ring gives more with every call for a while: doubling ends that soon.
      room = Math.max(rows, 2 * room);
      store = arraysOf(room);
    }
    for (const { name, gather } of gathers) gather(pieces, store[name] as Uint8Array);
    if (store.cpu !== undefined) fillCpus(pieces, store.cpu as Uint16Array);
    return batchOf(rows);
  };
}

/** Copies one column. A block comes again and again, so that the view of it is made once: it costs as much as the copy. */
function gatherer({ width, offset }: RingLayout["columns"][number]) {
  const make = arrayOf(width);
  const views = new Map<number, Uint8Array>();
  let memory: Uint8Array | null = null;
  return (pieces: BlockRows, out: Uint8Array): void => {
    if (memory !== pieces.bytes) {
      memory = pieces.bytes;
      views.clear();
    }
    let row = 0;
    for (let i = 0; i < pieces.pieces; i++) {
      const begin = pieces.begin_bytes[i] as number;
      const from = pieces.from[i] as number;
      const stop = pieces.to[i] as number;
      let view = views.get(begin);
      if (view === undefined) {
        view = new make(memory.buffer, memory.byteOffset + begin + offset, BLOCK_ROWS);
        views.set(begin, view);
      }
      out.set(stop - from === BLOCK_ROWS ? view : view.subarray(from, stop), row);
      row += stop - from;
    }
  };
}

function fillCpus(pieces: BlockRows, out: Uint16Array): void {
  let next = 0;
  for (let i = 0; i < pieces.pieces; i++) {
    const end = next + (pieces.to[i] as number) - (pieces.from[i] as number);
    out.fill(pieces.cpu[i] as number, next, end);
    next = end;
  }
}

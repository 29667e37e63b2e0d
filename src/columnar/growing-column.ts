/** Columns of numbers that grow row by row. No row is copied when they do, so that a column never takes twice its size. */

/** Rows that are added at once. */
const CHUNK_BITS = 12;
const CHUNK_ROWS = 1 << CHUNK_BITS;

export interface GrowingColumn {
  /** 0 where nothing was set. */
  get(row: number): number;
  set(row: number, value: number): void;
}

function grown(make: (rows: number) => Float64Array | Uint32Array | Uint8Array): GrowingColumn {
  const chunks: (Float64Array | Uint32Array | Uint8Array | undefined)[] = [];
  return {
    get: (row) => chunks[row >>> CHUNK_BITS]?.[row & (CHUNK_ROWS - 1)] ?? 0,
    set(row, value) {
      const number = row >>> CHUNK_BITS;
      let chunk = chunks[number];
      if (chunk === undefined) {
        while (chunks.length < number) chunks.push(undefined);
        chunk = make(CHUNK_ROWS);
        chunks[number] = chunk;
      }
      chunk[row & (CHUNK_ROWS - 1)] = value;
    },
  };
}

export const float64Column = (): GrowingColumn => grown((rows) => new Float64Array(rows));
export const uint32Column = (): GrowingColumn => grown((rows) => new Uint32Array(rows));
export const uint8Column = (): GrowingColumn => grown((rows) => new Uint8Array(rows));

/** Whole numbers, one behind the other. */
export interface GrowingList {
  push(value: number): void;
  readonly length: () => number;
  /** All of them. */
  values(): Uint32Array;
}

export function uint32List(): GrowingList {
  const column = uint32Column();
  let length = 0;
  return {
    push: (value) => column.set(length++, value),
    length: () => length,
    values() {
      const values = new Uint32Array(length);
      for (let i = 0; i < length; i++) values[i] = column.get(i);
      return values;
    },
  };
}

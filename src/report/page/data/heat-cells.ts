/** Sums of accesses in cells of time and address: each cell by itself where accesses are few, else on grids that become coarser. */

/** 12 bytes each before base64. */
const MOST_CELLS = 40_000;
/** So many accesses are kept one by one until all are there. */
export const MOST_EXACT = 300_000;
/** A grid of all cells has no more: 8 bytes each. */
const MOST_GRID = 2 ** 21;
export const [READ, WRITE] = [1, 2];
const BITS = 4;

export interface HeatCells {
  /** Columns and rows that a cell covers in either direction. */
  readonly cell_size: number;
  readonly column: Uint16Array;
  readonly row: Uint16Array;
  readonly reads: Float32Array;
  readonly writes: Float32Array;
}

export interface CellCounter {
  /** @param bits READ, WRITE, both, or 0 where neither is known */
  add(row: number, column: number, bits: number): void;
  /** Cells with an access of a known kind, by row and column. */
  cells(): HeatCells;
}

interface Grid {
  readonly columns: number;
  readonly shift: number;
  readonly reads: Float32Array;
  readonly writes: Float32Array;
}

function gridOf(rows: number, columns: number, shift: number): Grid {
  const [down, across] = [((rows - 1) >> shift) + 1, ((columns - 1) >> shift) + 1];
  return { columns: across, shift, reads: new Float32Array(down * across), writes: new Float32Array(down * across) };
}

function cellsIn({ reads, writes }: Grid): number {
  let count = 0;
  for (let i = 0; i < reads.length; i++) if ((reads[i] ?? 0) + (writes[i] ?? 0) > 0) count += 1;
  return count;
}

function addTo(grid: Grid, row: number, column: number, reads: number, writes: number): void {
  const place = (row >> grid.shift) * grid.columns + (column >> grid.shift);
  grid.reads[place] = (grid.reads[place] ?? 0) + reads;
  grid.writes[place] = (grid.writes[place] ?? 0) + writes;
}

const readsOf = (bits: number): number => bits & READ;
const writesOf = (bits: number): number => (bits & WRITE) >> 1;

/** The same with two rows and two columns in one. */
function halved(grid: Grid, rows: number, columns: number): Grid {
  const out = gridOf(rows, columns, grid.shift + 1);
  for (let i = 0; i < grid.reads.length; i++) {
    const read = grid.reads[i] ?? 0;
    const write = grid.writes[i] ?? 0;
    if (read + write === 0) continue;
    const place = (Math.floor(i / grid.columns) >> 1) * out.columns + ((i % grid.columns) >> 1);
    out.reads[place] = (out.reads[place] ?? 0) + read;
    out.writes[place] = (out.writes[place] ?? 0) + write;
  }
  return out;
}

function cellsOf(filled: Grid, rows: number, columns: number): HeatCells {
  let grid = filled;
  let count = cellsIn(grid);
  while (count > MOST_CELLS) {
    grid = halved(grid, rows, columns);
    count = cellsIn(grid);
  }
  const out = {
    cell_size: 1 << grid.shift,
    column: new Uint16Array(count),
    row: new Uint16Array(count),
    reads: new Float32Array(count),
    writes: new Float32Array(count),
  };
  let next = 0;
  for (let i = 0; i < grid.reads.length; i++) {
    const read = grid.reads[i] ?? 0;
    const write = grid.writes[i] ?? 0;
    if (read + write === 0) continue;
    out.row[next] = Math.floor(i / grid.columns);
    out.column[next] = i % grid.columns;
    out.reads[next] = read;
    out.writes[next] = write;
    next += 1;
  }
  return out;
}

/** A grid of all cells, each as small as there is room for. */
function finestGrid(rows: number, columns: number): Grid {
  let shift = 0;
  while ((rows >> shift) * (columns >> shift) > MOST_GRID) shift += 1;
  return gridOf(rows, columns, shift);
}

function gridCounter(rows: number, columns: number): CellCounter {
  const grid = finestGrid(rows, columns);
  return {
    add: (row, column, bits) => addTo(grid, row, column, readsOf(bits), writesOf(bits)),
    cells: () => cellsOf(grid, rows, columns),
  };
}

/** Keeps every access until all are there. */
function exactCounter(rows: number, columns: number, most: number): CellCounter {
  const keys = new Float64Array(most);
  let count = 0;
  /** Place, reads and writes of each cell, in order. */
  function sums(): (readonly [cell: number, reads: number, writes: number])[] {
    const sorted = keys.subarray(0, count).sort();
    const out: (readonly [number, number, number])[] = [];
    for (let i = 0; i < count; ) {
      const cell = Math.floor((sorted[i] ?? 0) / BITS);
      let [reads, writes] = [0, 0];
      for (; i < count && Math.floor((sorted[i] ?? 0) / BITS) === cell; i++) {
        const bits = (sorted[i] ?? 0) % BITS;
        reads += readsOf(bits);
        writes += writesOf(bits);
      }
      if (reads + writes > 0) out.push([cell, reads, writes]);
    }
    return out;
  }
  return {
    add(row, column, bits) {
      keys[count] = (row * columns + column) * BITS + bits;
      count += 1;
    },
    cells() {
      const cells = sums();
      const [rowOf, columnOf] = [(cell: number) => Math.floor(cell / columns), (cell: number) => cell % columns];
      if (cells.length > MOST_CELLS) {
        const grid = finestGrid(rows, columns);
        for (const [cell, reads, writes] of cells) addTo(grid, rowOf(cell), columnOf(cell), reads, writes);
        return cellsOf(grid, rows, columns);
      }
      return {
        cell_size: 1,
        column: Uint16Array.from(cells, ([cell]) => columnOf(cell)),
        row: Uint16Array.from(cells, ([cell]) => rowOf(cell)),
        reads: Float32Array.from(cells, ([, reads]) => reads),
        writes: Float32Array.from(cells, ([, , writes]) => writes),
      };
    },
  };
}

/** @param accesses that will be added at most */
export function cellCounter(rows: number, columns: number, accesses: number): CellCounter {
  return accesses <= MOST_EXACT ? exactCounter(rows, columns, accesses) : gridCounter(rows, columns);
}

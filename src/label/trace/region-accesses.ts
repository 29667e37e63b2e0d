/** What the rows of the trace said of each region: a run may have millions of regions, of which the rows meet few. */

export interface RegionAccesses {
  /** Rows that met any region. */
  readonly total: number;
  /** Takes a row that met a region. @param time_ns since the origin */
  add(region: number, time_ns: number): void;
  /** Rows that met the region. */
  rowsOf(region: number): number;
  /** Times of the first and the last of them in order of time; only where there is one. */
  firstNs(region: number): number;
  lastNs(region: number): number;
}

const FIRST_ROOM = 1024;

/** @param regions how many there are; they are numbered from 0 */
export function regionAccesses(regions: number): RegionAccesses {
  /** Place of each region in the columns, from 1; 0 where no row met it. */
  const placeOf = new Uint32Array(regions);
  let room = Math.min(regions, FIRST_ROOM) + 1;
  let rows = new Float64Array(room);
  let first = new Float64Array(room);
  let last = new Float64Array(room);
  let met = 0;
  let total = 0;

  function larger(old: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
    const column = new Float64Array(room);
    column.set(old);
    return column;
  }

  function meet(region: number): number {
    met += 1;
    if (met === room) {
      room = Math.min(regions + 1, 2 * room);
      [rows, first, last] = [larger(rows), larger(first), larger(last)];
    }
    placeOf[region] = met;
    return met;
  }

  return {
    get total() {
      return total;
    },
    add(region, time_ns) {
      let place = placeOf[region] as number;
      if (place === 0) {
        place = meet(region);
        first[place] = time_ns;
        last[place] = time_ns;
      }
      total += 1;
      rows[place] = (rows[place] as number) + 1;
      if (time_ns < (first[place] as number)) first[place] = time_ns;
      if (time_ns > (last[place] as number)) last[place] = time_ns;
    },
    rowsOf: (region) => rows[placeOf[region] as number] as number,
    firstNs: (region) => first[placeOf[region] as number] as number,
    lastNs: (region) => last[placeOf[region] as number] as number,
  };
}

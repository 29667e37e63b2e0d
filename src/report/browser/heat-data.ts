/** The cells and regions of the map of addresses, as arrays that can be looked up while the pointer moves. */
import type { HeatMap, RegionColumns, RunData } from "../page/data/page-data.ts";

export interface Cells {
  readonly column: Uint16Array;
  readonly row: Uint16Array;
  readonly reads: Float32Array;
  readonly writes: Float32Array;
  /** What was watched, in columns and rows of the map. */
  readonly looks: Readonly<Record<"column" | "row" | "width" | "height", Float32Array>>;
}

function bytesOf(base64: string): ArrayBuffer {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes.buffer;
}

/** The cells of a map, decoded. */
export function cellsOf(heat: HeatMap): Cells {
  return {
    column: new Uint16Array(bytesOf(heat.column)),
    row: new Uint16Array(bytesOf(heat.row)),
    reads: new Float32Array(bytesOf(heat.reads)),
    writes: new Float32Array(bytesOf(heat.writes)),
    looks: {
      column: new Float32Array(bytesOf(heat.looks.column)),
      row: new Float32Array(bytesOf(heat.looks.row)),
      width: new Float32Array(bytesOf(heat.looks.width)),
      height: new Float32Array(bytesOf(heat.looks.height)),
    },
  };
}

/** What lies at a row of the map at some time: the smallest region that is alive then, else the smallest that ever was. */
export function regionAt(regions: RegionColumns, row: number, time_ms: number): number | null {
  let best: number | null = null;
  let bestAlive = false;
  for (let i = 0; i < regions.map_row.length; i++) {
    const first = regions.map_row[i] ?? null;
    const rows = regions.map_rows[i] ?? null;
    if (first === null || rows === null || row < first || row >= first + rows) continue;
    const alive = (regions.birth_ms[i] ?? 0) <= time_ms && time_ms <= (regions.death_ms[i] ?? 0);
    const smaller = best === null || rows < (regions.map_rows[best] ?? 0);
    if (best === null || (alive && !bestAlive) || (alive === bestAlive && smaller)) [best, bestAlive] = [i, alive];
  }
  return best;
}

/** Sums of the cells around a place; a cell is as wide as the map was made. */
export function countsAt(heat: HeatMap, cells: Cells, column: number, row: number, reach: readonly [number, number]) {
  const sum = { reads: 0, writes: 0 };
  const size = heat.cell_size;
  for (let i = 0; i < heat.cells; i++) {
    const dx = Math.abs(((cells.column[i] ?? 0) + 0.5) * size - column);
    const dy = Math.abs(((cells.row[i] ?? 0) + 0.5) * size - row);
    if (dx > reach[0] || dy > reach[1]) continue;
    sum.reads += cells.reads[i] ?? 0;
    sum.writes += cells.writes[i] ?? 0;
  }
  return sum;
}

/** The decode step at a moment, and the phase; null where nobody said. */
export function momentOf(
  run: RunData,
  time_ms: number,
): { readonly token: number | null; readonly phase: string | null } {
  const span = run.phases.find(({ begin_ms, end_ms }) => begin_ms <= time_ms && time_ms < end_ms);
  const phase = span === undefined ? null : (span.step ?? span.phase);
  if ("why" in run.timeline) return { token: null, phase };
  const { time_ms: times, token_index } = run.timeline.data;
  let token: number | null = null;
  for (let i = 0; i < times.length && (times[i] ?? 0) <= time_ms; i++) token = token_index[i] ?? token;
  return { token, phase };
}

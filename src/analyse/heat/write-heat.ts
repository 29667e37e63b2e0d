/** heat.parquet: accesses by address and time, few enough to be drawn. */
import { join } from "node:path";
import { batchFromRows } from "../../columnar/rows.ts";
import { openParquetWriter } from "../../columnar/write/parquet-writer.ts";
import { CELL, type Heat, type HeatPlane, NO_ROW, SEVERAL, TIME_BINS } from "../../label/trace/heat-sums.ts";
import type { TraceHeat } from "../../label/trace/trace.ts";
import { type RowOf, type WordOf, wordsOf } from "../../schema/row.ts";
import type { WatchSample } from "../input/input.ts";

const TABLE = "heat";
const KINDS = wordsOf("trace", "region_type");
const SOURCES = wordsOf("trace", "source");
const WATCH = "watch";

const isOneRegion = (region: number): boolean => region !== 0 && region !== SEVERAL && region !== NO_ROW;

/** The cells of a plane that say something, block by block in order of process and address. */
function rowsOf(plane: HeatPlane, source: WordOf<"heat", "source">, originNs: bigint, binNs: number): RowOf<"heat">[] {
  const { block, pid, region, shift, sums } = plane;
  const order = Uint32Array.from({ length: plane.count }, (_, i) => i).sort(
    (a, b) => (pid[a] ?? 0) - (pid[b] ?? 0) || (block[a] ?? 0) - (block[b] ?? 0),
  );
  const out: RowOf<"heat">[] = [];
  for (const place of order) {
    const process = pid[place] ?? 0;
    const met = region[place] ?? 0;
    const facts = {
      region_type: KINDS[plane.kind] ?? "unknown",
      source,
      pid: process === SEVERAL || process === 0 ? null : process,
      addr: BigInt(block[place] ?? 0) << BigInt(shift),
      size_bytes: 1n << BigInt(shift),
      region_id: isOneRegion(met) ? met : null,
      duration_ns: BigInt(binNs),
    };
    for (let bin = 0; bin < TIME_BINS; bin++) {
      const cell = (place * TIME_BINS + bin) * CELL.size;
      const rows = sums[cell + CELL.rows] ?? 0;
      const watched = sums[cell + CELL.watched_ns] ?? 0;
      if (rows === 0 && watched === 0) continue;
      out.push({
        ...facts,
        timestamp_ns: originNs + BigInt(bin) * BigInt(binNs),
        rows,
        loads: sums[cell + CELL.loads] ?? 0,
        stores: sums[cell + CELL.stores] ?? 0,
        unknown: sums[cell + CELL.unknown] ?? 0,
        watched_ns: source === WATCH ? BigInt(Math.round(watched)) : null,
      });
    }
  }
  return out;
}

export type WatchedTime = Pick<WatchSample, "region_type" | "pid" | "addr" | "begin_ns" | "end_ns">;

/** Adds the time for which each watch looked at its word. */
export function addWatched({ sums, sources }: TraceHeat, watches: Iterable<WatchedTime>): void {
  const source = sources.indexOf(WATCH);
  for (const { region_type, pid, addr, begin_ns, end_ns } of watches) {
    sums.watch(KINDS.indexOf(region_type), source, pid, Number(addr), begin_ns, end_ns);
  }
}

/**
 * Replaces heat.parquet of a run directory.
 * @param sources names of the sources by their numbers in the planes
 * @throws MrmTraceError failure where it cannot be written
 */
export function writeHeat(runDir: string, heat: Heat, sources: readonly string[], originNs: bigint): void {
  using writer = openParquetWriter(join(runDir, "heat.parquet"), TABLE);
  const planes = [...heat.planes].sort((a, b) => a.kind - b.kind || a.source - b.source);
  for (const plane of planes) {
    const name = SOURCES.find((word) => word === sources[plane.source]) ?? "import";
    writer.add(batchFromRows(TABLE, rowsOf(plane, name, originNs, heat.bin_ns)));
  }
  writer.finish();
}

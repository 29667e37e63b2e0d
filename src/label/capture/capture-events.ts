/** Rows of the mapping, tensor and step streams as the maps of src/regions take them. */
import { createProcessMaps, type MappingCounters } from "../../regions/mapping-events.ts";
import type { MappingRow } from "../../regions/mapping-row.ts";
import { createTensorMap, type TensorCounters, type TensorLifetime } from "../../regions/tensor-map.ts";
import { type RowOf, wordsOf } from "../../schema/row.ts";

const MAPPING_KINDS = new Set<string>(wordsOf("mapping", "kind"));
const TENSOR_KINDS = new Set<string>(wordsOf("tensor", "kind"));
/** Lifetimes of the mappings of every process, and what could not be applied. */
export function mappingLives(rows: readonly RowOf<"mapping">[]): {
  readonly rows: MappingRow[];
  readonly counters: MappingCounters;
} {
  const maps = createProcessMaps({ keepHistory: true });
  let unknown = 0;
  for (const row of rows) {
    if (!MAPPING_KINDS.has(row.kind)) unknown += 1;
    else maps.apply(row);
  }
  const counters = { ...maps.counters, bad_rows: maps.counters.bad_rows + unknown };
  return { rows: maps.lifetimes(), counters };
}

/** Lifetimes of the engine's tensors; a process that ended or replaced its program holds none. */
export function tensorLives(
  tensors: readonly RowOf<"tensor">[],
  mappings: readonly RowOf<"mapping">[],
): { readonly rows: readonly TensorLifetime[]; readonly counters: TensorCounters } {
  const map = createTensorMap();
  const ends = mappings
    .filter((row) => row.kind === "exit" || row.kind === "exec")
    .map((row) => ({ time: row.timestamp_ns, pid: row.pid }));
  let unknown = 0;
  let ended = 0;
  for (const row of tensors) {
    const time = row.timestamp_ns;
    for (let end = ends[ended]; end !== undefined && end.time <= time; end = ends[++ended]) {
      map.endProcess(end.pid, end.time);
    }
    if (!TENSOR_KINDS.has(row.kind)) unknown += 1;
    else map.apply(row);
  }
  for (let end = ends[ended]; end !== undefined; end = ends[++ended]) map.endProcess(end.pid, end.time);
  return { rows: map.lifetimes(), counters: { ...map.counters, bad_rows: map.counters.bad_rows + unknown } };
}

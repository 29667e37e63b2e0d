/** Rows of the mapping, tensor and step streams as the maps of src/regions take them. */
import type { DuckDBValue } from "@duckdb/node-api";
import { createProcessMaps, type MappingCounters } from "../../regions/mapping-events.ts";
import type { MappingRow } from "../../regions/mapping-row.ts";
import { createTensorMap, type TensorCounters, type TensorLifetime } from "../../regions/tensor-map.ts";
import { columnsOf, type StreamName } from "../../schema/columns.ts";
import { type RowOf, wordsOf } from "../../schema/row.ts";

type Rows = readonly Record<string, DuckDBValue>[];

const MAPPING_KINDS = new Set<string>(wordsOf("mapping", "kind"));
const TENSOR_KINDS = new Set<string>(wordsOf("tensor", "kind"));
const BIG = new Set(["u64", "i64"]);

/** Values in the types of the stream: bigint for 64 bits, number for others, text; null where there is none. */
function typed(row: Record<string, DuckDBValue>, stream: StreamName): Record<string, string | number | bigint | null> {
  const out: Record<string, string | number | bigint | null> = {};
  for (const column of columnsOf(stream)) {
    const value = row[column.name];
    if (value === null || value === undefined) out[column.name] = null;
    else if (column.type === "string") out[column.name] = String(value);
    else out[column.name] = BIG.has(column.type) ? (value as bigint) : Number(value);
  }
  return out;
}

/** Lifetimes of the mappings of every process, and what could not be applied. */
export function mappingLives(rows: Rows): { readonly rows: MappingRow[]; readonly counters: MappingCounters } {
  const maps = createProcessMaps({ keepHistory: true });
  let unknown = 0;
  for (const row of rows) {
    if (!MAPPING_KINDS.has(String(row.kind))) unknown += 1;
    else maps.apply(typed(row, "mapping") as unknown as RowOf<"mapping">);
  }
  const counters = { ...maps.counters, bad_rows: maps.counters.bad_rows + unknown };
  return { rows: maps.lifetimes(), counters };
}

/** Lifetimes of the engine's tensors; a process that ended or replaced its program holds none. */
export function tensorLives(
  tensors: Rows,
  mappings: Rows,
): { readonly rows: readonly TensorLifetime[]; readonly counters: TensorCounters } {
  const map = createTensorMap();
  const ends = mappings
    .filter((row) => row.kind === "exit" || row.kind === "exec")
    .map((row) => ({ time: row.timestamp_ns as bigint, pid: Number(row.pid) }));
  let unknown = 0;
  let ended = 0;
  for (const row of tensors) {
    const time = row.timestamp_ns as bigint;
    for (let end = ends[ended]; end !== undefined && end.time <= time; end = ends[++ended]) {
      map.endProcess(end.pid, end.time);
    }
    if (!TENSOR_KINDS.has(String(row.kind))) unknown += 1;
    else map.apply(typed(row, "tensor") as unknown as RowOf<"tensor">);
  }
  for (let end = ends[ended]; end !== undefined; end = ends[++ended]) map.endProcess(end.pid, end.time);
  return { rows: map.lifetimes(), counters: { ...map.counters, bad_rows: map.counters.bad_rows + unknown } };
}

/** Rows of the tensor stream as the map of src/regions takes them. */
import { createTensorMap, type TensorCounters, type TensorLifetime } from "../../regions/tensor-map.ts";
import { type RowOf, wordsOf } from "../../schema/row.ts";

const TENSOR_KINDS = new Set<string>(wordsOf("tensor", "kind"));

/** A moment at which a process ended or replaced its program. */
export interface ProcessEnd {
  readonly pid: number;
  readonly time: bigint;
}

/**
 * Lifetimes of the engine's tensors; a process that ended or replaced its program holds none.
 * @param ends of the processes with tensors, in order of time
 */
export function tensorLives(
  tensors: readonly RowOf<"tensor">[],
  ends: readonly ProcessEnd[],
): {
  readonly rows: readonly TensorLifetime[];
  readonly elsewhere: readonly TensorLifetime[];
  readonly counters: TensorCounters;
} {
  const map = createTensorMap();
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
  const [rows, elsewhere] = [map.lifetimes(), map.elsewhere()];
  return { rows, elsewhere, counters: { ...map.counters, bad_rows: map.counters.bad_rows + unknown } };
}

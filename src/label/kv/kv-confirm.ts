/** Checks what the engine's steps say of a KV row against the traps on its bytes. */

import type { WatchTraps } from "../capture/watch-traps.ts";
import { isBatch, type StepRow } from "../timeline/step-row.ts";
import { evictedNs, type KvRows, type KvTensor } from "./kv-lifecycle.ts";
import type { KvToken } from "./kv-tokens.ts";

/** Position of the tensor that the watch lies in; -1 for none. */
function tensorOf(tensors: readonly KvTensor[], watch: WatchTraps): number {
  return tensors.findIndex(
    (tensor) =>
      tensor.pid === watch.pid &&
      tensor.layout === "rows" &&
      watch.addr >= tensor.addr &&
      watch.addr < tensor.addr + BigInt(Math.floor(tensor.row_bytes * tensor.cells)) &&
      tensor.birth_ns <= watch.begin_ns &&
      watch.begin_ns < tensor.death_ns,
  );
}

/**
 * True when a watch inside the row saw the row's life as the steps tell it: stores only while the writing batch ran and
 * at least one if it saw that batch whole; a load in every later batch that it saw whole; and at least one trap.
 */
function agrees(row: KvToken, evict_ns: number | null, watch: WatchTraps, batches: readonly StepRow[]): boolean {
  const from = Math.max(watch.begin_ns, row.write_ns);
  const to = Math.min(watch.end_ns, evict_ns ?? Number.POSITIVE_INFINITY);
  if (!(from < to)) return false;
  const inside = watch.traps.filter((trap) => trap.time_ns >= from && trap.time_ns <= to);
  if (inside.length === 0) return false;
  const stores = inside.filter((trap) => trap.op === "store" || trap.op === "load_store");
  if (stores.some((trap) => trap.time_ns > row.written_by_ns)) return false;
  const sawWrite = watch.begin_ns <= row.write_ns && watch.end_ns >= row.written_by_ns;
  if (sawWrite && stores.length === 0) return false;
  if (watch.mode === "w") return sawWrite;
  const later = batches.filter((b) => b.begin_ns >= from && b.begin_ns > row.write_ns && b.end_ns <= to);
  return later.every((batch) =>
    inside.some((trap) => trap.op !== "store" && trap.time_ns >= batch.begin_ns && trap.time_ns <= batch.end_ns),
  );
}

/** Watches by the tensor that they lie in, and the position of the row. */
function watchesByRow(tensors: readonly KvTensor[], watches: readonly WatchTraps[]): Map<number, WatchTraps[]>[] {
  const out = tensors.map(() => new Map<number, WatchTraps[]>());
  for (const watch of watches) {
    const index = tensorOf(tensors, watch);
    const tensor = tensors[index];
    const own = out[index];
    if (tensor === undefined || own === undefined) continue;
    const position = Math.floor(Number(watch.addr - tensor.addr) / tensor.row_bytes);
    const list = own.get(position);
    if (list === undefined) own.set(position, [watch]);
    else list.push(watch);
  }
  return out;
}

/** The rows, of which those are confirmed whose traps agree with the steps. */
export function confirmRows(rows: KvRows, watches: readonly WatchTraps[], steps: readonly StepRow[]): KvRows {
  const watched = watchesByRow(rows.tensors, watches);
  if (watched.every((own) => own.size === 0)) return rows;
  const batchesOf = Map.groupBy(steps.filter(isBatch), ({ pid }) => pid);
  const confirmed = Uint8Array.from(rows.token, (t, row) => {
    const token = rows.tokens[t];
    const tensor = rows.tensors[rows.tensor[row] ?? -1];
    if (token === undefined || tensor === undefined || token.position === null || !token.is_written) return 0;
    const own = watched[rows.tensor[row] ?? -1]?.get(token.position) ?? [];
    const evict_ns = evictedNs(token, tensor);
    return own.some((watch) => agrees(token, evict_ns, watch, batchesOf.get(token.pid) ?? [])) ? 1 : 0;
  });
  return { ...rows, confirmed };
}

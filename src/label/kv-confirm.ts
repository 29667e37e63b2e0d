/** Checks what the engine's steps say of a KV row against the traps on its bytes. */
import type { KvRow, KvTensor } from "./kv-lifecycle.ts";
import { isBatch, type StepRow } from "./step-row.ts";
import type { WatchTraps } from "./watch-traps.ts";

function tensorOf(tensors: readonly KvTensor[], watch: WatchTraps): KvTensor | undefined {
  return tensors.find(
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
export function agrees(row: KvRow, watch: WatchTraps, batches: readonly StepRow[]): boolean {
  const from = Math.max(watch.begin_ns, row.write_ns);
  const to = Math.min(watch.end_ns, row.evict_ns ?? Number.POSITIVE_INFINITY);
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

/** The rows, with `watch` as evidence where traps agree with the steps. */
export function confirmRows(
  rows: readonly KvRow[],
  watches: readonly WatchTraps[],
  steps: readonly StepRow[],
): KvRow[] {
  const tensors = [...new Set(rows.map((row) => row.tensor))];
  const watched = new Map<KvTensor, Map<number, WatchTraps[]>>();
  for (const watch of watches) {
    const tensor = tensorOf(tensors, watch);
    if (tensor === undefined) continue;
    const position = Math.floor(Number(watch.addr - tensor.addr) / tensor.row_bytes);
    const ofTensor = watched.get(tensor) ?? new Map<number, WatchTraps[]>();
    watched.set(tensor, ofTensor.set(position, [...(ofTensor.get(position) ?? []), watch]));
  }
  if (watched.size === 0) return [...rows];
  const batchesOf = new Map<number, StepRow[]>();
  for (const step of steps.filter(isBatch)) {
    batchesOf.set(step.pid, [...(batchesOf.get(step.pid) ?? []), step]);
  }
  return rows.map((row) => {
    const own = row.position === null || !row.is_written ? undefined : watched.get(row.tensor)?.get(row.position);
    const confirmed = own?.some((watch) => agrees(row, watch, batchesOf.get(row.pid) ?? []));
    return confirmed ? { ...row, evidence: "watch" } : row;
  });
}

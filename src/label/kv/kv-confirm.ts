/** Checks what the engine's steps say of a KV row against the hits on its bytes. */

import { cellAt } from "../../regions/kv-layout.ts";
import { OP } from "../../schema/operation.ts";
import type { WatchHits } from "../capture/watch-hits.ts";
import { isBatch, type StepRow } from "../timeline/step-row.ts";
import { type KvRows, type KvTensor, rowNumber } from "./kv-lifecycle.ts";
import { isReadAt, type KvToken } from "./kv-token.ts";

/** Cell of the tensor whose row the watch lies in; null for none. */
function watchedCell(tensor: KvTensor, watch: WatchHits): number | null {
  const { pid, addr, birth_ns, death_ns } = tensor;
  if (pid !== watch.pid || watch.addr < addr || watch.begin_ns < birth_ns || watch.begin_ns >= death_ns) return null;
  return cellAt(tensor, Number(watch.addr - addr));
}

/**
 * True when a watch inside the row saw the row's life as the steps tell it: stores only while the writing batch ran and
 * at least one if it saw that batch whole; a load in every batch that reads the row and that it saw whole; and at least
 * one hit.
 */
function agrees(row: KvToken, watch: WatchHits, batches: readonly StepRow[]): boolean {
  const from = Math.max(watch.begin_ns, row.write_ns);
  const end = Math.min(watch.end_ns, row.evict_ns ?? Number.POSITIVE_INFINITY);
  if (!(from < end)) return false;
  const inside = Array.from(watch.hit_ns, (time_ns, i) => ({ time_ns, op: watch.hit_op[i] ?? OP.unknown })).filter(
    ({ time_ns }) => time_ns >= from && time_ns <= end,
  );
  if (inside.length === 0) return false;
  const stores = inside.filter(({ op }) => op === OP.store || op === OP.load_store);
  if (stores.some(({ time_ns }) => time_ns > row.written_by_ns)) return false;
  const sawWrite = watch.begin_ns <= row.write_ns && watch.end_ns >= row.written_by_ns;
  if (sawWrite && stores.length === 0) return false;
  if (watch.mode === "w") return sawWrite;
  const later = batches.filter((b) => b.begin_ns >= from && b.end_ns <= end && isReadAt(row, b.begin_ns));
  return later.every((batch) =>
    inside.some(({ op, time_ns }) => op !== OP.store && time_ns >= batch.begin_ns && time_ns <= batch.end_ns),
  );
}

/** True when a watch inside the row saw it written again while it was in the cache, of which the steps do not tell. */
function contradicts(row: KvToken, watch: WatchHits): boolean {
  const end = Math.min(watch.end_ns, row.evict_ns ?? Number.POSITIVE_INFINITY);
  return watch.hit_ns.some((time_ns, i) => {
    const op = watch.hit_op[i];
    return time_ns > row.written_by_ns && time_ns < end && (op === OP.store || op === OP.load_store);
  });
}

/** Watches by the tensor that they lie in, and the cell of the row. */
function watchesByRow(tensors: readonly KvTensor[], watches: readonly WatchHits[]): Map<number, WatchHits[]>[] {
  const out = tensors.map(() => new Map<number, WatchHits[]>());
  for (const watch of watches) {
    for (const [k, tensor] of tensors.entries()) {
      const cell = watchedCell(tensor, watch);
      if (cell === null) continue;
      const list = out[k]?.get(cell);
      if (list === undefined) out[k]?.set(cell, [watch]);
      else list.push(watch);
      break;
    }
  }
  return out;
}

/** The rows, of which those are confirmed whose hits agree with the steps. */
export function confirmRows(rows: KvRows, watches: readonly WatchHits[], steps: readonly StepRow[]): KvRows {
  // Parts of a cache that moves are tensors by the ten thousand, without a row of a token.
  const { tokens } = rows;
  if (tokens.length === 0) return rows;
  const watched = watchesByRow(rows.tensors, watches);
  if (watched.every((cells) => cells.size === 0)) return rows;
  const keyOf = ({ pid, engine }: StepRow | KvToken): string => `${pid}/${engine ?? ""}`;
  const batchesOf = Map.groupBy(
    steps.filter((step) => isBatch(step) && step.kind !== "encode"),
    keyOf,
  );
  let contradicted = 0;
  const confirmed = new Set<number>();
  for (let t = 0; t < tokens.length; t++) {
    const cell = tokens.cell(t);
    if (cell === null || !tokens.origin(t).is_written) continue;
    for (const k of rows.rooms[rows.roomOf[t] as number] ?? []) {
      const inRow = watched[k]?.get(cell);
      if (inRow === undefined) continue;
      const token = tokens.token(t);
      if (token.writes === "once" && inRow.some((watch) => contradicts(token, watch))) contradicted += 1;
      if (!inRow.some((watch) => agrees(token, watch, batchesOf.get(keyOf(token)) ?? []))) continue;
      confirmed.add(rowNumber(rows, t, k));
    }
  }
  return { ...rows, confirmed, contradicted };
}

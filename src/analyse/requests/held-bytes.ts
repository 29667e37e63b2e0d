/** Bytes of KV rows that sequences hold, at moments, by the lives of the rows. */
import type { KvRows } from "../../label/kv/kv-lifecycle.ts";
import { rowsByOwner } from "./kept-rows.ts";

export interface Moment {
  readonly id: number;
  readonly pid: number;
  readonly sequence: number;
  /** That the sequence has then: each has a row in every cache tensor. */
  readonly tokens: number;
  /** From the origin of the run. */
  readonly time_ns: number;
}

/** How many cache tensors each process has rows in. */
function tensorCounts({ tokens, rooms, roomOf }: KvRows): ReadonlyMap<number, number> {
  const found = new Map<number, Set<number>>();
  for (let i = 0; i < tokens.length; i++) {
    const { pid } = tokens.origin(i);
    const tensors = found.get(pid) ?? new Set();
    if (tensors.size === 0) found.set(pid, tensors);
    for (const tensor of rooms[roomOf[i] ?? -1] ?? []) tensors.add(tensor);
  }
  return new Map([...found].map(([pid, tensors]) => [pid, tensors.size]));
}

/** What a sequence has more, or less, from a moment on. */
interface Change {
  readonly time_ns: number;
  readonly bytes: number;
  readonly rows: number;
}

/**
 * Bytes of the rows that a sequence has written and not given up by each moment, by the id of the moment. None where they
 * are not the rows of its tokens: of what was restored, shifted away or written before its tensor was known some are missing.
 */
export function heldBytes(rows: KvRows, moments: readonly Moment[]): ReadonlyMap<number, bigint> {
  const keyOf = ({ pid, sequence }: { readonly pid: number; readonly sequence: number | null }) => `${pid}/${sequence}`;
  const asked = Map.groupBy(moments, keyOf);
  const tensors = tensorCounts(rows);
  const owned = rowsByOwner(rows, (place) => {
    const key = keyOf(rows.tokens.origin(place));
    return asked.has(key) ? key : null;
  });
  const held = new Map<number, bigint>();
  for (const [key, some] of asked) {
    const kept = owned.get(key);
    const changes: Change[] = [];
    for (let k = 0; kept !== undefined && k < kept.count; k++) {
      const [bytes, count, left_ns] = [kept.bytes(k), kept.rows(k), kept.left_ns(k)];
      changes.push({ time_ns: kept.write_ns(k), bytes, rows: count });
      if (Number.isFinite(left_ns)) changes.push({ time_ns: left_ns, bytes: -bytes, rows: -count });
    }
    changes.sort((one, other) => one.time_ns - other.time_ns);
    let [next, sum, sumRows] = [0, 0, 0];
    for (const { id, pid, tokens: wanted, time_ns } of some.toSorted((one, other) => one.time_ns - other.time_ns)) {
      for (let change = changes[next]; change !== undefined && change.time_ns <= time_ns; change = changes[++next]) {
        sum += change.bytes;
        sumRows += change.rows;
      }
      if (sumRows > 0 && sumRows === wanted * (tensors.get(pid) ?? 0)) held.set(id, BigInt(Math.round(sum)));
    }
  }
  return held;
}

/** How long the KV rows of an owner, such as a request or a sequence, were needed: from their write to the last batch that read them. */
import type { KvRows } from "../../label/kv/kv-lifecycle.ts";
import type { KvToken } from "../../label/kv/kv-token.ts";
import { lifeQuantiles } from "../../statistics/weighted-lives.ts";

/** Rows of one owner, in all layers; ns from the origin of the run. */
export interface KeptRows {
  readonly tokens: readonly KvToken[];
  /** Of each token: its rows, their bytes, and when they left the cache, Infinity while they are there. */
  readonly rows: readonly number[];
  readonly bytes: readonly number[];
  readonly left_ns: readonly number[];
}

export interface RowRetention {
  readonly written_bytes: bigint;
  /** Of it in the cache at the end: they may be needed again. */
  readonly open_bytes: bigint;
  /** Over bytes; null where those that are open decide it, or nothing was written. */
  readonly retention_p50_ns: bigint | null;
  /** Null while some are open. */
  readonly retention_max_ns: bigint | null;
}

/** From the write of a row to the begin of the last batch that needed it, ns; 0 where none did. */
export const neededNs = ({ write_ns, last_read_ns }: KvToken): number => Math.max(0, (last_read_ns ?? 0) - write_ns);

/** Rows and bytes of a token in each room, and when its tensors are gone. */
function roomsOf({ rooms, tensors }: KvRows) {
  return rooms.map((members) => {
    const those = members.flatMap((place) => tensors[place] ?? []);
    return {
      rows: those.length,
      bytes: those.reduce((sum, { row_bytes }) => sum + row_bytes, 0),
      death_ns: those.reduce((latest, { death_ns }) => Math.max(latest, death_ns), 0),
    };
  });
}

/**
 * Rows by their owners.
 * @param ownerOf of a token; null where its rows are nobody's who is asked for
 */
export function rowsByOwner<Owner>(rows: KvRows, ownerOf: (token: KvToken) => Owner | null): Map<Owner, KeptRows> {
  const rooms = roomsOf(rows);
  const found = new Map<Owner, { tokens: KvToken[]; rows: number[]; bytes: number[]; left_ns: number[] }>();
  for (const [i, token] of rows.tokens.entries()) {
    const owner = ownerOf(token);
    if (owner === null) continue;
    const kept = found.get(owner) ?? { tokens: [], rows: [], bytes: [], left_ns: [] };
    if (kept.tokens.length === 0) found.set(owner, kept);
    const room = rooms[rows.roomOf[i] ?? -1] ?? { rows: 0, bytes: 0, death_ns: 0 };
    kept.tokens.push(token);
    kept.rows.push(room.rows);
    kept.bytes.push(room.bytes);
    kept.left_ns.push(Math.min(token.evict_ns ?? Number.POSITIVE_INFINITY, room.death_ns));
  }
  return found;
}

/** Of rows that were written while we looked; a row that a cache moves counts once, from its first copy on. */
export function rowRetention({ tokens, bytes, left_ns }: KeptRows): RowRetention {
  const written = [...tokens.keys()].filter((i) => tokens[i]?.is_written);
  const needs = written.map((i) => neededNs(tokens[i] as KvToken));
  const sumOf = (some: readonly number[]): bigint =>
    BigInt(Math.round(some.reduce((sum, i) => sum + (bytes[i] ?? 0), 0)));
  const isWhole = (i: number): boolean => Number.isFinite(left_ns[i] ?? Number.POSITIVE_INFINITY);
  const { seen, endless } = lifeQuantiles(
    {
      count: written.length,
      time: (k) => needs[k] ?? 0,
      isWhole: (k) => isWhole(written[k] ?? -1),
      weight: (k) => bytes[written[k] ?? -1] ?? 0,
    },
    [0.5],
  );
  const open = written.filter((i) => !isWhole(i));
  const median = seen[0] === endless[0] ? (seen[0] ?? null) : null;
  const longest = needs.reduce((most, need) => Math.max(most, need), 0);
  return {
    written_bytes: sumOf(written),
    open_bytes: sumOf(open),
    retention_p50_ns: median === null ? null : BigInt(Math.round(median)),
    retention_max_ns: open.length > 0 || written.length === 0 ? null : BigInt(Math.round(longest)),
  };
}

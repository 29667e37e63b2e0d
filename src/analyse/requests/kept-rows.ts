/** How long the KV rows of an owner, such as a request or a sequence, were needed: from their write to the last batch that read them. */
import { placesByKey } from "../../columnar/keys/places-by-key.ts";
import type { KvRows } from "../../label/kv/kv-lifecycle.ts";
import type { TokenList } from "../../label/kv/token-list.ts";
import { lifeQuantiles } from "../../statistics/weighted-lives.ts";

/** Tokens of one owner by number, from 0, in order of their writes, with their rows in all layers; ns from the origin of the run. */
export interface KeptRows {
  readonly count: number;
  readonly tokens: TokenList;
  /** Its place in `tokens`. */
  place(k: number): number;
  isWritten(k: number): boolean;
  write_ns(k: number): number;
  /** Number of the tensors that keep its rows: a token may be there once for each such room. */
  room(k: number): number;
  rows(k: number): number;
  bytes(k: number): number;
  /** When its rows left the cache; Infinity while they are there. */
  left_ns(k: number): number;
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
const neededNs = ({ tokens, place, write_ns }: KeptRows, k: number): number =>
  Math.max(0, (tokens.last_read_ns(place(k)) ?? 0) - write_ns(k));

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
 * Rows by their owners. Nothing of a token is copied: there may be hundreds of thousands.
 * @param ownerOf of a token; null where its rows are nobody's who is asked for
 */
export function rowsByOwner<Owner>(all: KvRows, ownerOf: (place: number) => Owner | null): Map<Owner, KeptRows> {
  const { tokens, roomOf } = all;
  const rooms = roomsOf(all);
  const nowhere = { rows: 0, bytes: 0, death_ns: 0 };
  const places = placesByKey(tokens.length, ownerOf);
  const kept = (mine: Uint32Array): KeptRows => {
    const place = (k: number): number => mine[k] as number;
    const roomAt = (k: number) => rooms[roomOf[place(k)] ?? -1] ?? nowhere;
    return {
      ...{ count: mine.length, tokens, place },
      isWritten: (k) => tokens.origin(place(k)).is_written,
      write_ns: (k) => tokens.write_ns(place(k)),
      room: (k) => roomOf[place(k)] ?? -1,
      rows: (k) => roomAt(k).rows,
      bytes: (k) => roomAt(k).bytes,
      left_ns: (k) => Math.min(tokens.evict_ns(place(k)) ?? Number.POSITIVE_INFINITY, roomAt(k).death_ns),
    };
  };
  return new Map([...places].map(([owner, mine]) => [owner, kept(mine)]));
}

/** Of rows that were written while we looked; a row that a cache moves counts once, from its first copy on. */
export function rowRetention(kept: KeptRows): RowRetention {
  const { count, isWritten, bytes, left_ns } = kept;
  let [written_bytes, open_bytes, longest, written] = [0, 0, 0, 0];
  for (let k = 0; k < count; k++) {
    if (!isWritten(k)) continue;
    written += 1;
    written_bytes += bytes(k);
    if (!Number.isFinite(left_ns(k))) open_bytes += bytes(k);
    longest = Math.max(longest, neededNs(kept, k));
  }
  const { seen, endless } = lifeQuantiles(
    {
      count,
      time: (k) => neededNs(kept, k),
      isWhole: (k) => Number.isFinite(left_ns(k)),
      weight: (k) => (isWritten(k) ? bytes(k) : 0),
    },
    [0.5],
  );
  const median = seen[0] === endless[0] ? (seen[0] ?? null) : null;
  return {
    written_bytes: BigInt(Math.round(written_bytes)),
    open_bytes: BigInt(Math.round(open_bytes)),
    retention_p50_ns: median === null ? null : BigInt(Math.round(median)),
    retention_max_ns: open_bytes > 0 || written === 0 ? null : BigInt(Math.round(longest)),
  };
}

/** Watches with their hits, which are gathered from the captured rows while those are labelled; times as ns since the origin. */
import { OP, opOf } from "../../schema/operation.ts";
import type { RowOf } from "../../schema/row.ts";
import { relativeNs } from "../timeline/origin.ts";
import { type AccessRows, FACTS, type WordLists } from "./access-rows.ts";

const WORD = 2 ** 32;
const FIRST_ROOM = 1024;

export interface WatchHits {
  readonly watch_id: number;
  readonly pid: number;
  readonly addr: bigint;
  readonly mode: string;
  readonly begin_ns: number;
  readonly end_ns: number;
  /** Hits inside the exposure, in order of time. */
  readonly hit_ns: Float64Array;
  /** What each did, as a value of OP. */
  readonly hit_op: Uint8Array;
  /** The row of the watch stream. */
  readonly row: RowOf<"watch">;
}

/** False where a segment lacks accesses that the watch saw: its rates would be too low. True where nobody counted them. */
export function hasItsAccesses({ hit_ns, row }: WatchHits): boolean {
  return row.n_accesses === null || hit_ns.length >= row.n_accesses;
}

/** Hits of all watches, in the order of the trace. */
export interface HitColumns {
  readonly count: number;
  /** Arrays may be longer than `count`. */
  readonly watch: Uint32Array;
  readonly time_ns: Float64Array;
  readonly op: Uint8Array;
}

export interface HitGatherer {
  readonly hits: HitColumns;
  /** Takes the rows of a part that are hits. @param order as `timeOrder` gives it */
  add(rows: AccessRows, order: Uint32Array | null, lists: WordLists): void;
}

/** @param isTaken of a watch: the hits of others are not held */
export function hitGatherer(originNs: bigint, isTaken: (watchId: number) => boolean = () => true): HitGatherer {
  const originLow = Number(originNs & 0xffffffffn);
  const originHigh = Number(originNs >> 32n);
  const hits = { count: 0, watch: new Uint32Array(0), time_ns: new Float64Array(0), op: new Uint8Array(0) };

  function grow(): void {
    const room = Math.max(FIRST_ROOM, 2 * hits.count);
    const [watch, time_ns, op] = [new Uint32Array(room), new Float64Array(room), new Uint8Array(room)];
    watch.set(hits.watch);
    time_ns.set(hits.time_ns);
    op.set(hits.op);
    Object.assign(hits, { watch, time_ns, op });
  }

  return {
    hits,
    add({ rows, words }, order, { ops, sources }) {
      const source = sources.indexOf("watch");
      const codeOf = Uint8Array.from(ops, opOf);
      const { facts, timestamp, watch } = words;
      for (let i = 0; i < rows; i++) {
        const row = order === null ? i : (order[i] as number);
        const fact = facts[row] as number;
        if ((fact & FACTS.HAS_WATCH) === 0 || ((fact >>> FACTS.SOURCE_SHIFT) & FACTS.MASK) !== source) continue;
        if (!isTaken(watch[row] as number)) continue;
        if (hits.count === hits.watch.length) grow();
        hits.watch[hits.count] = watch[row] as number;
        // Exact for 104 days, as each difference is, however late the origin.
        hits.time_ns[hits.count] =
          ((timestamp[2 * row + 1] as number) - originHigh) * WORD + ((timestamp[2 * row] as number) - originLow);
        hits.op[hits.count] = codeOf[fact & FACTS.MASK] ?? OP.unknown;
        hits.count += 1;
      }
    },
  };
}

/** Positions of the hits of each watch, in order. */
function byWatch({ count, watch }: HitColumns): ReadonlyMap<number, Uint32Array> {
  const numbers = new Map<number, number>();
  for (let i = 0; i < count; i++) numbers.set(watch[i] as number, (numbers.get(watch[i] as number) ?? 0) + 1);
  const places = new Map([...numbers].map(([id, n]) => [id, { positions: new Uint32Array(n), filled: 0 }]));
  for (let i = 0; i < count; i++) {
    const place = places.get(watch[i] as number);
    if (place !== undefined) place.positions[place.filled++] = i;
  }
  return new Map([...places].map(([id, { positions }]) => [id, positions]));
}

/** The watches of the run; hits outside a watch's exposure are left out. */
export function watchHits(watches: readonly RowOf<"watch">[], hits: HitColumns, originNs: bigint): WatchHits[] {
  const positions = byWatch(hits);
  return watches.map((row) => {
    const begin_ns = relativeNs(row.timestamp_ns, originNs) ?? 0;
    const end_ns = relativeNs(row.end_ns, originNs) ?? begin_ns;
    const inside = (positions.get(row.watch_id) ?? new Uint32Array(0)).filter((position) => {
      const time_ns = hits.time_ns[position] as number;
      return time_ns >= begin_ns && time_ns <= end_ns;
    });
    return {
      watch_id: row.watch_id,
      pid: row.pid,
      addr: row.addr,
      mode: row.mode,
      begin_ns,
      end_ns,
      hit_ns: Float64Array.from(inside, (position) => hits.time_ns[position] as number),
      hit_op: Uint8Array.from(inside, (position) => hits.op[position] as number),
      row,
    };
  });
}

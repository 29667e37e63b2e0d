/** The watches of a run from which its figures are made: all of them, or as many as there is memory for, drawn at random. */
import type { RowOf } from "../../schema/row.ts";
import { seededRandom } from "../../statistics/prng.ts";
import { type LabelRoom, tooMany } from "../label-room.ts";
import { relativeNs } from "../timeline/origin.ts";
import type { RowsInOrder } from "./rows-in-order.ts";

type WatchRow = RowOf<"watch">;
/** What says of a watch whether it is taken. Nothing that it saw is in it. */
type Drawn = Pick<WatchRow, "watch_id" | "pid" | "addr"> & { readonly design: string };

/** When a watch began that was not taken, and by which turn: how densely the run was looked at is told by all of them. */
export interface LeftWatch {
  readonly watch_id: number;
  readonly begin_ns: number;
  readonly design: string;
  readonly stratum: string;
  readonly trap_limit: number;
  readonly dwell_limit_ns: number;
}

export interface DrawnWatches {
  /** In order of time. */
  readonly rows: readonly WatchRow[];
  readonly left: readonly LeftWatch[];
  isTaken(watchId: number): boolean;
  /** The rows of those that were left, read again. */
  leftRows(): Generator<WatchRow, void, void>;
  /** Memory for deriving that takes all of them, in whole GiB; null where all are taken. */
  readonly enough_gib: number | null;
}

/** Turns that are taken of each stretch of turns, so that no part of a run has more of them than another. */
const EACH = 16;
/** Separates the draw from others of the seed. */
const STREAM = 0x6c656674;
/** From fewer watches next to no figure is told (few-watches.ts). */
const FEWEST = 100;
const LINE_BITS = 6n;

/** Two words of one line that were watched from one moment on: one turn, and one line to the figures over lines (write-history.ts). */
const isCohort = (a: Drawn, b: Drawn): boolean =>
  a.design === "cohort" &&
  b.design === "cohort" &&
  a.pid === b.pid &&
  Math.abs(a.watch_id - b.watch_id) === 1 &&
  a.addr >> LINE_BITS === b.addr >> LINE_BITS;

/**
 * Decides of watch after watch, in order of time, which are taken: of so many turns that follow each other, as many as the next, each as likely as another
 * whatever it was and saw.
 * @param share of the turns, in (0, 1]: a little less is taken
 */
export function watchSieve(seed: number, share: number): (watch: Drawn) => boolean {
  const random = seededRandom(seed, STREAM);
  const stretch = Math.ceil(EACH / share);
  let seen = 0;
  let taken = 0;
  let before: { readonly watch: Drawn; readonly isTaken: boolean; readonly isFirst: boolean } | null = null;
  return (watch) => {
    if (before?.isFirst === true && isCohort(before.watch, watch)) {
      before = { ...before, isFirst: false };
      return before.isTaken;
    }
    if (seen === stretch) seen = taken = 0;
    // Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S).
    const isTaken = random() * (stretch - seen) < EACH - taken;
    seen += 1;
    if (isTaken) taken += 1;
    before = { watch, isTaken, isFirst: true };
    return isTaken;
  };
}

/** @throws MrmTraceError environment where there is room for too few */
export function drawnWatches(all: RowsInOrder<"watch">, seed: number, originNs: bigint, room: LabelRoom): DrawnWatches {
  if (all.count <= room.most("watches")) {
    room.take("watches", all.count);
    return { rows: [...all.rows()], left: [], isTaken: () => true, *leftRows() {}, enough_gib: null };
  }
  const enough_gib = room.enoughGib("watches", all.count);
  const mostLeft = room.most("watches that are left");
  if (all.count > mostLeft) throw tooMany("watches", mostLeft, enough_gib);
  room.take("watches that are left", all.count);
  const most = room.most("watches");
  if (most < FEWEST) throw tooMany("watches", most, enough_gib);
  room.take("watches", most);
  const sieve = () => watchSieve(seed, most / all.count);
  const rows: WatchRow[] = [];
  const left: LeftWatch[] = [];
  const isTaken = sieve();
  for (const row of all.rows()) {
    if (isTaken(row)) rows.push(row);
    else left.push(leftWatch(row, originNs));
  }
  const ids = new Set(rows.map(({ watch_id }) => watch_id));
  return {
    rows,
    left,
    enough_gib,
    isTaken: (watchId) => ids.has(watchId),
    *leftRows() {
      const isTaken = sieve();
      for (const row of all.rows()) if (!isTaken(row)) yield row;
    },
  };
}

const leftWatch = (row: WatchRow, originNs: bigint): LeftWatch => ({
  watch_id: row.watch_id,
  begin_ns: relativeNs(row.timestamp_ns, originNs) ?? 0,
  design: String(row.design),
  stratum: row.stratum,
  trap_limit: row.trap_limit,
  dwell_limit_ns: Number(row.dwell_limit_ns),
});

/** Which rows of the KV cache are written once, by the engine's steps: a count, whose interval is that of its sequences. */

import { resample } from "../../statistics/bootstrap.ts";
import { carryingUnits } from "../../statistics/carrying-units.ts";
import { interval } from "../../statistics/interval.ts";
import { ratioInterval } from "../../statistics/ratio.ts";
import type { Group } from "../input/group.ts";
import { type Figure, notIdentifiable } from "../metrics/metric.ts";
import { FEWEST_SEQUENCES } from "./kv-need-figures.ts";
import { leastShare, mostShare, rowRoom } from "./shared-rows.ts";

/** Bytes that a sequence wrote in rows of the cache. */
interface Written {
  once: number;
  perhaps: number;
  all: number;
}

const STREAM = 1006;
const MOVED = "positions were moved while rows were in the cache, for which the engine may have written them again";

/**
 * The share of rows, by their bytes, that nothing was written over before the engine gave them up, nor they over another.
 * Where all sequences are alike it is a count without an interval; else the interval is that of sequences.
 * @returns no figure where no write of a row was seen
 */
export function kvWriteOnce(group: Group, metric: string): Figure[] {
  const { kvRows, kvUntold, input } = group;
  const untold = kvUntold ?? (kvRows.length > 0 ? input.kvWritesUntold : null);
  if (untold !== null) return [notIdentifiable(metric, "step", 0, untold)];
  const byFilling = new Map<number, Written>();
  const all: Written = { once: 0, perhaps: 0, all: 0 };
  for (const { is_written, filling, writes, size_bytes } of kvRows) {
    if (!is_written) continue;
    const mine = byFilling.get(filling) ?? { once: 0, perhaps: 0, all: 0 };
    byFilling.set(filling, mine);
    for (const sum of [mine, all]) {
      sum.all += size_bytes;
      if (writes === "once") sum.once += size_bytes;
      if (writes === "perhaps_more") sum.perhaps += size_bytes;
    }
  }
  const n = byFilling.size;
  if (all.all === 0) return [];
  const base = { metric, source: "step", n, coverage: 1 };
  // Where all rows are alike it makes no difference how many there are.
  const isAlike = all.perhaps === 0 && (all.once === 0 || all.once === all.all);
  // All rows of early batches may be written once, or none.
  const room = rowRoom(group, "written_share", isAlike ? 0 : undefined);
  const { reasons } = room;
  const withRoom = (lo: number | null, hi: number | null) =>
    interval(null, lo === null ? null : leastShare(lo, room), hi === null ? null : mostShare(hi, room));
  const share = all.once / all.all;
  if (all.perhaps > 0) {
    return [
      {
        ...base,
        estimate: withRoom(share, (all.once + all.perhaps) / all.all),
        bound: true,
        census: true,
        method: "count of the rows that the engine's steps write; n counts sequences",
        why: [MOVED, ...reasons].join("; "),
      },
    ];
  }
  const bound = reasons.length === 0 ? {} : { bound: true, why: reasons.join("; ") };
  if (isAlike) {
    return [
      {
        ...base,
        estimate: reasons.length === 0 ? interval(share, share, share) : withRoom(share, share),
        census: true,
        ...bound,
        method: "count of the rows that the engine's steps write, the same for every sequence; n counts sequences",
      },
    ];
  }
  const units = [...byFilling.values()];
  const once = Float64Array.from(units, (sum) => sum.once);
  const bytes = Float64Array.from(units, (sum) => sum.all);
  const estimate = ratioInterval(once, bytes, resample(new Uint8Array(n), input.seed, STREAM), carryingUnits(bytes));
  return [
    {
      ...base,
      estimate: reasons.length === 0 ? estimate : withRoom(estimate.lo, estimate.hi),
      ...bound,
      fewest: FEWEST_SEQUENCES,
      method: "rows that the engine's steps write once over rows that they write, BCa over sequences; n counts them",
    },
  ];
}

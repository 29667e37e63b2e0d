/** Rows of watches that have ended, gathered for a while: a batch costs the same for one row as for hundreds. */

import type { Batch } from "../../../columnar/batch.ts";
import { GATHER_NS, GATHER_ROWS } from "../../../columnar/gather.ts";
import { batchFromRows } from "../../../columnar/rows.ts";
import type { RowOf } from "../../../schema/row.ts";

export interface WatchRows {
  add(watch: RowOf<"watch">, accesses: readonly RowOf<"access">[]): void;
  /** The batches of `access` and `watch` that are due, or what there is where `all` is asked for. */
  take(all: boolean, nowNs: bigint): Batch[];
}

export function gatherWatchRows(beginNs: bigint): WatchRows {
  let accessRows: RowOf<"access">[] = [];
  let watchRows: RowOf<"watch">[] = [];
  let gatheredNs = beginNs;
  return {
    add(watch, accesses) {
      accessRows.push(...accesses);
      watchRows.push(watch);
    },
    take(all, now) {
      const taken: Batch[] = [];
      if (!all && accessRows.length < GATHER_ROWS && now < gatheredNs + GATHER_NS) return taken;
      gatheredNs = now;
      if (accessRows.length > 0) taken.push(batchFromRows("access", accessRows));
      if (watchRows.length > 0) taken.push(batchFromRows("watch", watchRows));
      accessRows = [];
      watchRows = [];
      return taken;
    },
  };
}

/** Rows of watches that have ended, gathered for a while: a batch costs the same for one row as for hundreds. */

import type { Batch } from "../../../columnar/batch.ts";
import { GATHER_NS, GATHER_ROWS } from "../../../columnar/gather.ts";
import { batchFromRows } from "../../../columnar/rows.ts";
import type { RowOf } from "../../../schema/row.ts";

export interface WatchRows {
  add(watch: RowOf<"watch">, accesses: readonly RowOf<"access">[]): void;
  /** True where rows have waited for long, or are many. */
  isDue(nowNs: bigint): boolean;
  /** The batches of `access` and `watch` that there are. */
  take(nowNs: bigint): Batch[];
  /** Gives up what there is: how many watches, and how many of their accesses. */
  drop(): { readonly watches: number; readonly accesses: number };
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
    isDue: (now) => accessRows.length >= GATHER_ROWS || now >= gatheredNs + GATHER_NS,
    drop() {
      const dropped = { watches: watchRows.length, accesses: accessRows.length };
      accessRows = [];
      watchRows = [];
      return dropped;
    },
    take(now) {
      const taken: Batch[] = [];
      gatheredNs = now;
      if (accessRows.length > 0) taken.push(batchFromRows("access", accessRows));
      if (watchRows.length > 0) taken.push(batchFromRows("watch", watchRows));
      accessRows = [];
      watchRows = [];
      return taken;
    },
  };
}

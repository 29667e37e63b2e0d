/** Access rows as they are read: columns of a fixed length that are handed over when they are full, then used again. */
import type { Batch } from "../columnar/batch.ts";
import { type ColumnRoom, columnRoom, roomBatch } from "../columnar/column-room.ts";

/** Rows that are handed over at once. */
export const ROWS = 1 << 15;

export interface AccessColumns extends ColumnRoom<"access"> {
  /** While it is false no row has a watch, and the column is not looked at. */
  watched: boolean;
}

export function accessColumns(capacity = ROWS): AccessColumns {
  return { ...columnRoom("access", capacity), watched: false };
}

/** The rows so far as a batch over the same memory: it must be copied before the next row comes. */
export function accessBatch(from: AccessColumns): Batch<"access"> {
  return roomBatch("access", from, from.watched ? [] : ["watch_id"]);
}

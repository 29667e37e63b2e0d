/** Rows of one stream on their way to segments, counted by the source of figures that they feed. */

import type { StreamName } from "../../schema/columns.ts";
import { type FigureSource, type LedgerRow, SOURCES_OF } from "../../schema/ledger.ts";
import { wordsOf } from "../../schema/row.ts";
import { type Batch, isStringColumn } from "../batch.ts";

const SOURCES = wordsOf("access", "source");

export interface RowTally {
  /** An empty count: one number per source of the stream. */
  none(): Float64Array;
  /** Rows from `from` up to `end` of the batch have come: adds them to a count, and returns it. */
  add(batch: Batch, from: number, end: number, count: Float64Array): Float64Array;
  /** These are in a file. */
  keep(rows: Float64Array): void;
  /** These are lost. */
  drop(cause: string, rows: Float64Array): void;
  /** One row per source of which something came; one in any case for a stream of one source. */
  account(): LedgerRow[];
}

/** A tally of the stream; rows of `access` say their source, those of every other stream have one. */
export function openRowTally(stream: StreamName): RowTally {
  const sources = SOURCES_OF[stream];
  const none = (): Float64Array => new Float64Array(sources.length);
  const seen = none();
  const kept = none();
  const dropped = new Map<string, Float64Array>();

  function plus(count: Float64Array, more: Float64Array): void {
    for (let i = 0; i < count.length; i++) count[i] = (count[i] ?? 0) + (more[i] ?? 0);
  }

  function come(place: number, rows: number, count: Float64Array): void {
    seen[place] = (seen[place] ?? 0) + rows;
    count[place] = (count[place] ?? 0) + rows;
  }

  function add(batch: Batch, from: number, stop: number, count: Float64Array): Float64Array {
    const column = stream === "access" ? batch.columns.source : undefined;
    if (column === undefined || !isStringColumn(column)) {
      come(0, stop - from, count);
      return count;
    }
    const { codes, values } = column;
    const rowsOf = new Float64Array(values.length);
    for (let row = from; row < stop; row++) {
      const code = codes[row] ?? 0;
      rowsOf[code] = (rowsOf[code] ?? 0) + 1;
    }
    // A word that is no source, which no writer makes, counts with the first one: no row falls out of the account.
    for (const [code, value] of values.entries()) {
      come(Math.max(0, (SOURCES as readonly string[]).indexOf(value)), rowsOf[code] ?? 0, count);
    }
    return count;
  }

  function rowOf(source: FigureSource, i: number): LedgerRow {
    const lost = [...dropped].map(([cause, rows]): [string, number] => [cause, rows[i] ?? 0]).filter(([, n]) => n > 0);
    return {
      stream,
      source,
      stage: "segments",
      way: null,
      pid: null,
      seen: seen[i] ?? 0,
      kept: kept[i] ?? 0,
      filtered: 0,
      dropped: lost.reduce((sum, [, n]) => sum + n, 0),
      dropped_by: Object.fromEntries(lost),
      unseen_estimate: null,
    };
  }

  return {
    none,
    add,
    keep(rows) {
      plus(kept, rows);
    },
    drop(cause, rows) {
      const sum = dropped.get(cause) ?? none();
      plus(sum, rows);
      dropped.set(cause, sum);
    },
    account: () => sources.map(rowOf).filter((row) => row.seen > 0 || sources.length === 1),
  };
}

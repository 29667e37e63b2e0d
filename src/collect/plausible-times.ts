/** Rows whose time cannot belong to the recording: one damaged timestamp would stretch it over centuries. */
import { type Batch, type ColumnData, isStringColumn } from "../columnar/batch.ts";
import { ownBatch } from "../columnar/own-batch.ts";
import type { LedgerRow } from "../schema/ledger.ts";

/** Rows among which the time of the recording is looked for; until then they wait. */
const LOOK_ROWS = 4096;
/** 2^53 ns, 104 days, in units of 2^32 ns: beyond it times are not exact, and no recording is that long. */
const FARTHEST = 2 ** 21;
const CAUSE = "implausible_time";

export interface PlausibleTimes {
  /** Hands on the rows that can be; the first ones wait until enough are known. The batch is copied where it is kept. */
  take(batch: Batch): void;
  /** Hands on what still waits. */
  flush(): void;
  /** Rows that were left out, by stream. */
  readonly dropped: ReadonlyMap<string, number>;
  /** A time of the file as it is where it can be, else the nearest time of a row. */
  within(time_ns: bigint): bigint;
}

function timesOf(batch: Batch): BigUint64Array | null {
  const column = batch.columns.timestamp_ns;
  if (column === undefined || isStringColumn(column) || !(column.data instanceof BigUint64Array)) return null;
  return column.data.subarray(0, batch.rows);
}

const earlier = (a: bigint | null, b: bigint | undefined): bigint | null =>
  b === undefined || (a !== null && a < b) ? a : b;
const later = (a: bigint | null, b: bigint | undefined): bigint | null =>
  b === undefined || (a !== null && a > b) ? a : b;
const high = (time_ns: bigint): number => Number(time_ns >> 32n);

function keep(column: ColumnData, rows: readonly number[]): ColumnData {
  const pick = <
    T extends { [row: number]: number | bigint; readonly length: number; slice(from: number, end: number): T },
  >(
    from: T,
  ): T => {
    const out = from.slice(0, rows.length);
    rows.forEach((row, i) => {
      out[i] = from[row] ?? 0;
    });
    return out;
  };
  if (isStringColumn(column)) return { codes: pick(column.codes), values: column.values };
  const data = pick(column.data as Uint8Array) as typeof column.data;
  return column.valid === undefined ? { data } : { data, valid: pick(column.valid) };
}

/**
 * Passes rows on whose time lies within 104 days of the recording's, which is the median time of the first rows.
 * @param onBatch takes what is passed on
 */
export function plausibleTimes(onBatch: (batch: Batch) => void): PlausibleTimes {
  const waiting: Batch[] = [];
  const dropped = new Map<string, number>();
  let waitingRows = 0;
  let middle_ns: bigint | null = null;
  let first_ns: bigint | null = null;
  let last_ns: bigint | null = null;

  function pass(batch: Batch, times: BigUint64Array, middle: number): void {
    const words = new Uint32Array(times.buffer, times.byteOffset, 2 * times.length);
    const rows: number[] = [];
    let bad = 0;
    let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    let [first, last] = [0, 0];
    for (let row = 0; row < times.length; row++) {
      const top = words[2 * row + 1] ?? 0;
      if (Math.abs(top - middle) > FARTHEST) {
        // Rows before it, which were not listed as long as all were good.
        if (bad === 0) for (let good = 0; good < row; good++) rows.push(good);
        bad += 1;
        continue;
      }
      if (bad > 0) rows.push(row);
      // From the middle on it is exact as a number.
      const time = (top - middle) * 2 ** 32 + (words[2 * row] ?? 0);
      if (time < least) [least, first] = [time, row];
      if (time > most) [most, last] = [time, row];
    }
    if (bad > 0) dropped.set(batch.table, (dropped.get(batch.table) ?? 0) + bad);
    if (bad === times.length) return;
    first_ns = earlier(first_ns, times[first]);
    last_ns = later(last_ns, times[last]);
    if (bad === 0) {
      onBatch(batch);
      return;
    }
    const columns = Object.entries(batch.columns).map(([name, column]) => [name, keep(column, rows)] as const);
    onBatch({ ...batch, rows: rows.length, columns: Object.fromEntries(columns) });
  }

  function learn(): void {
    const sorted = BigUint64Array.from(waiting.flatMap((batch) => [...(timesOf(batch) ?? [])])).sort();
    middle_ns = sorted[sorted.length >> 1] ?? null;
    [first_ns, last_ns] = [middle_ns, middle_ns];
  }

  function handOn(): void {
    learn();
    for (const batch of waiting.splice(0)) {
      const times = timesOf(batch);
      if (times === null || middle_ns === null) onBatch(batch);
      else pass(batch, times, high(middle_ns));
    }
  }

  return {
    dropped,
    take(batch) {
      const times = timesOf(batch);
      if (times === null) onBatch(batch);
      else if (middle_ns !== null) pass(batch, times, high(middle_ns));
      else {
        waiting.push(ownBatch(batch));
        waitingRows += batch.rows;
        if (waitingRows >= LOOK_ROWS) handOn();
      }
    },
    flush: handOn,
    within(time_ns) {
      if (middle_ns === null || Math.abs(high(time_ns) - high(middle_ns)) <= FARTHEST) return time_ns;
      return (time_ns < middle_ns ? first_ns : last_ns) ?? time_ns;
    },
  };
}

/** The ledger of an import without those rows: what its last stage kept of the stream, less what was left out here. */
export function withoutImplausible(ledger: readonly LedgerRow[], dropped: ReadonlyMap<string, number>): LedgerRow[] {
  const out = [...ledger];
  for (const [stream, n] of dropped) {
    const place = out.findLastIndex((row) => row.stream === stream && row.kept >= n);
    const row = out[place];
    if (row === undefined) continue;
    out[place] = {
      ...row,
      kept: row.kept - n,
      dropped: row.dropped + n,
      dropped_by: { ...row.dropped_by, [CAUSE]: n },
    };
  }
  return out;
}

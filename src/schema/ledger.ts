/** The loss ledger: nothing is lost in silence. */

/** One path by which events travel; `seen = kept + filtered + dropped` holds in every row. */
export interface LedgerRow {
  /** Stream and way, such as `fault/ring/cpu0`. */
  readonly path: string;
  readonly pid: number | null;
  readonly seen: number;
  readonly kept: number;
  readonly filtered: number;
  readonly dropped: number;
  /** `dropped` by cause. */
  readonly dropped_by: Readonly<Record<string, number>>;
  /** Events that no counter could see, estimated; null where there is no estimate. */
  readonly unseen_estimate: number | null;
}

/** True when the identity of the row holds and its causes add up. */
export function balances(row: LedgerRow): boolean {
  const causes = Object.values(row.dropped_by).reduce((sum, n) => sum + n, 0);
  return row.seen === row.kept + row.filtered + row.dropped && causes === row.dropped;
}

/** What all rows together dropped for one cause. */
export function droppedBy(rows: readonly LedgerRow[], cause: string): number {
  return rows.reduce((sum, row) => sum + (row.dropped_by[cause] ?? 0), 0);
}

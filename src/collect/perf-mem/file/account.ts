/** What became of every sample of a file; every one is in exactly one of kept, filtered and dropped. */
import type { LedgerRow } from "../../../schema/ledger.ts";

export interface Account {
  /** Samples that the file holds. */
  samples: number;
  keptAccesses: number;
  keptFaults: number;
  /** Samples left out on purpose, by reason. */
  readonly filtered: Map<string, number>;
  /** Samples that were lost or cannot be read, by cause. */
  readonly dropped: Map<string, number>;
  /** Times that the kernel slowed sampling down. */
  throttles: number;
  /** Records of other types that cannot be read. */
  badRecords: number;
  records: number;
}

export function newAccount(): Account {
  return {
    samples: 0,
    keptAccesses: 0,
    keptFaults: 0,
    filtered: new Map(),
    dropped: new Map(),
    throttles: 0,
    badRecords: 0,
    records: 0,
  };
}

export function count(counters: Map<string, number>, name: string, by = 1): void {
  counters.set(name, (counters.get(name) ?? 0) + by);
}

const sum = (counters: ReadonlyMap<string, number>): number => [...counters.values()].reduce((all, n) => all + n, 0);

/** Ledger rows of the samples and of the throttles; `path` names the way, such as perf or import. */
export function ledgerOf(account: Account, path: string): LedgerRow[] {
  const dropped = sum(account.dropped);
  const filtered = sum(account.filtered);
  const stream = account.keptFaults > 0 && account.keptAccesses === 0 ? "fault" : "access";
  const kept = account.keptAccesses + account.keptFaults;
  const rows: LedgerRow[] = [
    {
      path: `${stream}/${path}`,
      pid: null,
      seen: kept + filtered + dropped,
      kept,
      filtered,
      dropped,
      dropped_by: Object.fromEntries(account.dropped),
      unseen_estimate: null,
    },
  ];
  const told = (name: string, seen: number, isLost: boolean): LedgerRow => ({
    path: `${name}/${path}`,
    pid: null,
    seen,
    kept: isLost ? 0 : seen,
    filtered: 0,
    dropped: isLost ? seen : 0,
    dropped_by: isLost ? { unreadable: seen } : {},
    unseen_estimate: null,
  });
  if (account.throttles > 0) rows.push(told("throttle", account.throttles, false));
  if (account.badRecords > 0) rows.push(told("record", account.badRecords, true));
  return rows;
}

/** Runs of our programs that the kernel skipped: events that no other counter saw. */
import type { BpfCost } from "../../kernel/bpf-costs.ts";
import type { LedgerPlace, LedgerRow } from "../../schema/ledger.ts";

type Fed = Pick<LedgerPlace, "stream" | "source">;

/** What the programs of an object see. */
function fedBy(object: string, sampled: "pebs" | "ibs" | null): Fed | null {
  switch (object) {
    case "lifecycle":
      return { stream: "mapping", source: "region_map" };
    case "faults":
      return { stream: "fault", source: "fault" };
    case "engine":
      return { stream: "engine", source: null };
    case "watch":
      return { stream: "access", source: "watch" };
    case "clock":
      return { stream: "access", source: "clock" };
    case "samples":
      return { stream: "access", source: sampled };
    default:
      return null;
  }
}

/**
 * The ledger with the runs that were skipped: added to what the program's own counters say it observed, or as a row of
 * their own beside the runs that there were.
 *
 * @param sampled which source the programs of `samples` feed
 */
export function withSkippedRuns(
  costs: readonly BpfCost[],
  sampled: "pebs" | "ibs" | null,
  ledger: readonly LedgerRow[],
): LedgerRow[] {
  const rows = [...ledger];
  for (const { name, object, recursion_misses, sampled_runs, sampled_share } of costs) {
    const fed = fedBy(object, sampled);
    if (recursion_misses === 0 || fed === null) continue;
    const place = { ...fed, stage: "observe", way: name } as const;
    const i = rows.findIndex(
      (row) => row.stream === fed.stream && row.source === fed.source && row.stage === "observe",
    );
    const runs = Math.round(sampled_runs / sampled_share);
    const own = { ...place, pid: null, seen: runs, kept: runs, filtered: 0, dropped: 0, dropped_by: {} };
    const found: LedgerRow = rows[i] ?? { ...own, unseen_estimate: null };
    const row = {
      ...found,
      seen: found.seen + recursion_misses,
      dropped: found.dropped + recursion_misses,
      dropped_by: { ...found.dropped_by, recursion: (found.dropped_by.recursion ?? 0) + recursion_misses },
    };
    if (i < 0) rows.push(row);
    else rows[i] = row;
  }
  return rows;
}

/** Runs of our programs that the kernel skipped: events that no other counter saw. */
import type { BpfCost } from "../../kernel/bpf-costs.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import type { Part } from "./part.ts";

/**
 * The ledger of a part with the runs that were skipped: added to what the program's own counters say it observed, or as
 * a row of their own beside the runs that there were.
 * @param costs of the part's own programs
 * @param sees what they see
 */
export function withSkippedRuns(
  costs: readonly BpfCost[],
  sees: Part["sees"],
  ledger: readonly LedgerRow[],
): LedgerRow[] {
  const rows = [...ledger];
  for (const { name, recursion_misses, sampled_runs, sampled_share } of costs) {
    if (recursion_misses === 0) continue;
    const i = rows.findIndex(
      (row) => row.stream === sees.stream && row.source === sees.source && row.stage === "observe",
    );
    const runs = Math.round(sampled_runs / sampled_share);
    const own = { pid: null, seen: runs, kept: runs, filtered: 0, dropped: 0, dropped_by: {}, unseen_estimate: null };
    const found: LedgerRow = rows[i] ?? { ...sees, ...own, stage: "observe", way: name };
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

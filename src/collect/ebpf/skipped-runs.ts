/** Runs of our programs that the kernel skipped: events that no other counter saw. */
import type { SkippedRuns } from "../../kernel/bpf-costs.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import type { Part } from "./part.ts";

/**
 * The ledger of a part with the runs that were skipped: added to what its programs' own counters say they observed, or
 * as a row beside the runs that there were. Where neither is known, they never came into the ring.
 * @param skipped of the part's own programs
 * @param sees what they see
 */
export function withSkippedRuns(
  skipped: readonly SkippedRuns[],
  sees: Part["sees"],
  ledger: readonly LedgerRow[],
): LedgerRow[] {
  const rows = [...ledger];
  const stageIndex = (stage: LedgerRow["stage"]): number =>
    rows.findIndex((row) => row.stream === sees.stream && row.source === sees.source && row.stage === stage);
  for (const { name, recursion_misses: n, runs } of skipped) {
    const observed = stageIndex("observe");
    const i = observed < 0 && runs === null ? stageIndex("ring") : observed;
    const seen = runs ?? 0;
    const counts = { pid: null, seen, kept: seen, filtered: 0, dropped: 0, dropped_by: {}, unseen_estimate: null };
    const found: LedgerRow = rows[i] ?? { ...sees, ...counts, stage: "observe", way: name };
    const row = {
      ...found,
      seen: found.seen + n,
      dropped: found.dropped + n,
      dropped_by: { ...found.dropped_by, recursion: (found.dropped_by.recursion ?? 0) + n },
    };
    if (i < 0) rows.push(row);
    else rows[i] = row;
  }
  return rows;
}

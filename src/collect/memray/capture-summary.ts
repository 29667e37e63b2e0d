/** What a capture held, in exact figures, and how they become rows of the ledger. */
import type { Batch } from "../../columnar/batch.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import type { CaptureHeader } from "./format/header.ts";
import type { LifetimeTotals } from "./lifetimes.ts";

/** What went wrong inside names and stacks, where nothing of the allocations was lost. */
export interface StackCounts {
  /** Stacks that were not told apart from their callers. */
  readonly stackOverflow: number;
  readonly unnamedFrames: number;
  readonly unmatchedPops: number;
  readonly objectRecords: number;
}

/** Sums of an aggregated capture. */
export interface SiteTotals {
  readonly sites: number;
  readonly peakBytes: number;
  readonly peakAllocations: number;
  readonly leakedBytes: number;
  readonly leakedAllocations: number;
}

export interface CaptureSummary extends StackCounts {
  readonly totals: LifetimeTotals;
  /** Zeros unless the capture is aggregated. */
  readonly sites: SiteTotals;
  /** True where the writer's last record was reached, and the writer had not stopped before. */
  readonly complete: boolean;
  /** True where the writer closed a capture that it had given up before: its count tells nothing of what is missing. */
  readonly stoppedItself: boolean;
  /** Why the capture is not whole; null where it is. */
  readonly problem: string | null;
  /** Bytes of the file, decompressed, after a damaged record, of those that were already read. */
  readonly unreadBytes: number;
  readonly memoryRecords: number;
  /** Longest time between two memory records: twice the largest uncertainty of a time. */
  readonly longestGapMs: number;
  readonly clockSetBack: number;
  readonly clockUncertaintyNs: bigint;
}

export interface CaptureReading {
  readonly header: CaptureHeader;
  /** Read from the file as they are asked for; a batch must be copied before the next is. */
  readonly batches: Iterable<Batch>;
  /** Null until the last batch was taken. */
  summary(): CaptureSummary | null;
}

export function emptySites(): SiteTotals {
  return { sites: 0, peakBytes: 0, peakAllocations: 0, leakedBytes: 0, leakedAllocations: 0 };
}

/** Whether the program is known to have ended where its capture does. */
export type CaptureOrigin = "imported" | "recorded";

/**
 * The ledger of a capture that was read to its end.
 *
 * Seen are allocations and frees. A free of what was allocated before memray looked is `filtered`; `dropped` are those
 * whose lifetime is not known. What a cut file would have held is told by the writer's count, where it left one; but
 * a writer that found no room for more ended its capture itself, and the program that was recorded went on.
 */
export function captureLedger(
  pid: number,
  header: CaptureHeader,
  summary: CaptureSummary,
  origin: CaptureOrigin,
): LedgerRow[] {
  const { totals, sites } = summary;
  const dropped_by: Record<string, number> = {};
  if (totals.unpaired > 0) dropped_by.live_table_full = totals.unpaired;
  if (totals.unknownKind > 0) dropped_by.unknown_allocator = totals.unknownKind;
  const dropped = totals.unpaired + totals.unknownKind;
  const seen = header.aggregated ? sites.sites : totals.records;
  const isCounted = origin === "imported" && !header.aggregated && !summary.stoppedItself;
  const missing = header.nRecords - totals.records;
  return [
    {
      stream: header.aggregated ? "allocation_site" : "allocation",
      source: "allocation",
      stage: "decode",
      way: "memray",
      pid,
      seen,
      kept: seen - totals.foreignFrees - dropped,
      filtered: totals.foreignFrees,
      dropped,
      dropped_by,
      // A killed writer leaves no count: what it had not written is not known.
      unseen_estimate: summary.complete ? 0 : isCounted && missing > 0 ? missing : null,
    },
  ];
}

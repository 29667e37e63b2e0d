/** The account of mappings and processes: records of calls, names, and who was followed. */
import type { LedgerRow } from "../../../schema/ledger.ts";

export interface LifecycleCounts {
  readonly records: Readonly<Record<"seen" | "kept" | "ring_full" | "malformed" | "unseen", number>>;
  readonly names: Readonly<Record<"seen" | "strangers" | "lost" | "malformed", number>>;
  /** Looks at maps in /proc, and those that found the process gone. */
  readonly looks: Readonly<Record<"made" | "vanished", number>>;
  /** Processes that nobody follows. */
  readonly unfollowed: Readonly<Record<"table_full" | "of_32_bits", number>>;
  /** Advice on the memory of other processes. */
  readonly advice_elsewhere: number;
}

const PLACE = { stream: "mapping", source: "region_map", pid: null, unseen_estimate: null } as const;

export function lifecycleLedger({ records, names, looks, unfollowed, advice_elsewhere }: LifecycleCounts): LedgerRow[] {
  const { table_full, of_32_bits } = unfollowed;
  return [
    {
      ...PLACE,
      stage: "ring",
      way: "calls",
      seen: records.seen + advice_elsewhere,
      kept: records.kept,
      // It changes no mapping.
      filtered: advice_elsewhere,
      dropped: records.ring_full + records.malformed,
      dropped_by: { ring_full: records.ring_full, malformed: records.malformed },
      unseen_estimate: records.unseen,
    },
    {
      ...PLACE,
      stage: "decode",
      way: "names",
      seen: names.seen + names.lost,
      kept: names.seen - names.malformed - names.strangers,
      filtered: names.strangers,
      dropped: names.lost + names.malformed,
      dropped_by: { ring_full: names.lost, malformed: names.malformed },
    },
    {
      ...PLACE,
      stage: "attach",
      way: "processes",
      // Who is gone needs no look: nothing that happened to it was lost.
      seen: looks.made + looks.vanished + table_full + of_32_bits,
      kept: looks.made,
      filtered: looks.vanished,
      dropped: table_full + of_32_bits,
      dropped_by: { table_full, of_32_bits },
    },
  ];
}

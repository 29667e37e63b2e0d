/** How much was lost: one answer, from the ledger, for the printed line, the validity class, `--json` and every figure. */
import { FIGURE_SOURCES, type FigureSource, type LedgerRow, SOURCES_OF } from "./ledger.ts";

export interface SourceLoss {
  readonly source: FigureSource;
  /** Share of the source's events that did not reach a file, in %. */
  readonly lost_pct: number;
}

const feeds = (row: LedgerRow, source: FigureSource): boolean =>
  row.source === source || (row.source === null && SOURCES_OF[row.stream].includes(source));

/**
 * Share of a source's events that were lost anywhere on their way to a file, in %; null where the ledger has none of it.
 *
 * What one stage keeps the next has seen, so shares are composed: 1 - the product over all stages of all streams that
 * feed the source of the share that survived. Several ways through one stage are added first. Events that no counter
 * saw count as lost by their estimate.
 */
export function lostPct(ledger: readonly LedgerRow[], source: string): number | null {
  const named = FIGURE_SOURCES.find((name) => name === source);
  if (named === undefined) return null;
  const stages = new Map<string, { events: number; lost: number }>();
  for (const row of ledger) {
    if (!feeds(row, named)) continue;
    const key = `${row.stream}/${row.stage}`;
    const { events, lost } = stages.get(key) ?? { events: 0, lost: 0 };
    const unseen = row.unseen_estimate ?? 0;
    stages.set(key, { events: events + row.seen + unseen, lost: lost + row.dropped + unseen });
  }
  const passed = [...stages.values()].filter(({ events }) => events > 0);
  if (passed.length === 0) return null;
  // As a sum of what each stage takes from what is left: nothing lost is 0 and not nearly so.
  return 100 * passed.reduce((gone, { events, lost }) => gone + (1 - gone) * (lost / events), 0);
}

/** Events of a source that were lost anywhere on their way to a file, those that no counter saw by their estimate. */
export function lostCount(ledger: readonly LedgerRow[], source: string): number {
  const named = FIGURE_SOURCES.find((name) => name === source);
  if (named === undefined) return 0;
  return ledger.reduce((sum, row) => sum + (feeds(row, named) ? row.dropped + (row.unseen_estimate ?? 0) : 0), 0);
}

/** Loss of every source that the ledger tells of, in the order of FIGURE_SOURCES. */
export function lossOf(ledger: readonly LedgerRow[]): SourceLoss[] {
  return FIGURE_SOURCES.flatMap((source) => {
    const lost_pct = lostPct(ledger, source);
    return lost_pct === null ? [] : [{ source, lost_pct }];
  });
}

/** The part of it that is an estimate of events which nobody saw, in %; 0 where there is none. */
export function unseenPct(ledger: readonly LedgerRow[], source: FigureSource): number {
  const seen = ledger.map((row) => ({ ...row, unseen_estimate: null }));
  return Math.max(0, (lostPct(ledger, source) ?? 0) - (lostPct(seen, source) ?? 0));
}

/** The sources of which rows that were written cannot be read back; how many is not always known. */
export function unreadSources(ledger: readonly LedgerRow[]): FigureSource[] {
  const unread = ledger.filter(({ stage }) => stage === "read");
  return FIGURE_SOURCES.filter((source) => unread.some((row) => feeds(row, source)));
}

/** Loss of the source that lost most, in %: a run is as good as the worst of what it tells; 0 where nothing was seen. */
export function worstLossPct(ledger: readonly LedgerRow[]): number {
  return Math.max(0, ...lossOf(ledger).map(({ lost_pct }) => lost_pct));
}

/**
 * Events of the run, each counted once: those whose rows are in files, those that were dropped, and those that were
 * left out on purpose. What was not taken hold of (`attach`) is none of them.
 */
export function eventsOf(ledger: readonly LedgerRow[]): { kept: number; dropped: number; filtered: number } {
  const sum = { kept: 0, dropped: 0, filtered: 0 };
  for (const row of ledger) {
    if (row.stage === "attach") continue;
    if (row.stage === "segments") sum.kept += row.kept;
    // They were kept in files.
    if (row.stage === "read") sum.kept -= Math.min(sum.kept, row.dropped);
    sum.dropped += row.dropped;
    sum.filtered += row.filtered;
  }
  return sum;
}

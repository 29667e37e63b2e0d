/** What could not be read back of a capture, as rows of the ledger. */
import { STREAMS, type StreamName } from "../../schema/columns.ts";
import { type FigureSource, type LedgerRow, SOURCES_OF } from "../../schema/ledger.ts";
import { formatCounted } from "../../units.ts";
import type { Capture } from "./capture.ts";
import type { WatchHits } from "./watch-hits.ts";

/** Rows that were read of each source of accesses. */
export type RowsBySource = ReadonlyMap<string, number>;

/** Rows of a source that are in files by the ledger of the recording; null where it says nothing of it. */
function writtenRows(ledger: readonly LedgerRow[], stream: StreamName, source: FigureSource): number | null {
  const rows = ledger.filter((row) => row.stage === "segments" && row.stream === stream && row.source === source);
  return rows.length === 0 ? null : rows.reduce((sum, { kept }) => sum + kept, 0);
}

function readRow(
  stream: StreamName,
  source: FigureSource | null,
  way: string | null,
  kept: number,
  dropped: number,
): LedgerRow {
  return {
    stream,
    source,
    stage: "read",
    way,
    pid: null,
    seen: kept + dropped,
    kept,
    filtered: 0,
    dropped,
    dropped_by: dropped > 0 ? { unreadable: dropped } : {},
    unseen_estimate: null,
  };
}

function unreadOf(
  capture: Capture,
  ledger: readonly LedgerRow[],
  stream: StreamName,
  accesses: RowsBySource,
): LedgerRow[] {
  const skipped = capture.skipped.filter((segment) => segment.stream === stream);
  const paths = new Set(skipped.map(({ path }) => path));
  const found = capture.segments[stream].reduce((sum, { path, rows }) => sum + (paths.has(path) ? 0 : rows), 0);
  const written = SOURCES_OF[stream].map((source) => ({ source, rows: writtenRows(ledger, stream, source) }));
  const all = written.reduce((sum, { rows }) => sum + (rows ?? 0), 0);
  if (skipped.length === 0 && all <= found) return [];
  const segments = formatCounted(skipped.length, "segment");
  const bySource = written.flatMap(({ source, rows }) => {
    const read = stream === "access" ? (accesses.get(source) ?? 0) : found;
    return rows === null || rows <= read ? [] : [readRow(stream, source, segments, read, rows - read)];
  });
  if (bySource.length > 0 || skipped.length === 0) return bySource;
  // Nobody told how many rows were written: the footers of some segments do.
  const unknown = skipped.filter(({ rows }) => rows === null).length;
  const lostRows = skipped.reduce((sum, { rows }) => sum + (rows ?? 0), 0);
  const way = unknown === 0 ? segments : `${segments}, ${unknown} of unknown length`;
  return [readRow(stream, null, way, found, lostRows)];
}

/**
 * Hits that watches tell of and that no segment has, of a recording without a ledger: segments of the two streams are
 * closed at times of their own, and one that was open when the tracer was killed is lost.
 */
function unwrittenHits(capture: Capture, ledger: readonly LedgerRow[], watches: readonly WatchHits[]): LedgerRow[] {
  const isTold = writtenRows(ledger, "access", "watch") !== null;
  if (isTold || capture.skipped.some(({ stream }) => stream === "access")) return [];
  let kept = 0;
  let dropped = 0;
  for (const { hit_ns, row } of watches) {
    kept += hit_ns.length;
    dropped += Math.max(0, (row.n_accesses ?? 0) - hit_ns.length);
  }
  if (dropped === 0) return [];
  const lost = { ...readRow("access", "watch", null, kept, dropped), dropped_by: { never_written: dropped } };
  return [{ ...lost, stage: "segments" }];
}

/**
 * A row for every stream and source of which rows are missing that were written, and for every stream of which segments
 * cannot be read; none for a capture that is whole.
 * @param ledger of the recording; without one only footers tell what is missing
 * @param accesses rows of each source that were read
 * @param watches with the hits that were read
 */
export function unreadRows(
  capture: Capture,
  ledger: readonly LedgerRow[],
  accesses: RowsBySource,
  watches: readonly WatchHits[],
): LedgerRow[] {
  const unread = STREAMS.flatMap((stream) => unreadOf(capture, ledger, stream, accesses));
  return [...unread, ...unwrittenHits(capture, ledger, watches)];
}

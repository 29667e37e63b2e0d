/** Cuts the captured accesses into parts of the trace by time, so that each part can be sorted and written alone. */

import { type Database, parquetScan } from "../../sql/database.ts";
import type { Capture, Segment } from "../capture/capture.ts";
import { completeRow } from "../capture/stream-columns-sql.ts";
import type { TimeBounds } from "../timeline/origin.ts";

/** Rows that a part has at least, but for the last: what is held and sorted at a time, in some 25 MB. */
const PART_ROWS = 1 << 18;
/** Parts that may have more are cut further, at quantiles of their times. */
export const MOST_ROWS = 4 * PART_ROWS;

export interface TracePart {
  readonly segments: readonly string[];
  /** True where no row can lack a required value. */
  readonly complete: boolean;
  /** Rows with from <= timestamp_ns < to; null for no bound. */
  readonly from_ns: bigint | null;
  readonly to_ns: bigint | null;
  /** Rows of its segments, of which the bounds may leave some out. */
  readonly most_rows: number;
}

/** SQL that is true for the complete rows of a part. */
export function partFilter(part: TracePart): string {
  const conditions = [part.complete ? "true" : completeRow("access")];
  if (part.from_ns !== null) conditions.push(`timestamp_ns >= ${part.from_ns}`);
  if (part.to_ns !== null) conditions.push(`timestamp_ns < ${part.to_ns}`);
  return conditions.join(" AND ");
}

type TimedSegment = Segment & TimeBounds;

/** Segments in order of their first time; one whose times cannot be read is in no part. */
function timedSegments(segments: readonly Segment[], times: ReadonlyMap<string, TimeBounds>): TimedSegment[] {
  const timed = segments.flatMap((segment) => {
    const bounds = times.get(segment.path);
    return bounds === undefined ? [] : [{ ...segment, ...bounds }];
  });
  return timed.sort((left, right) => (left.first < right.first ? -1 : left.first > right.first ? 1 : 0));
}

/** Times at which a new part begins: the first time of a segment, once enough rows lie before it. */
function cutTimes(segments: readonly TimedSegment[]): bigint[] {
  const cuts: bigint[] = [];
  let rows = 0;
  for (const segment of segments) {
    if (rows >= PART_ROWS && segment.first > (cuts.at(-1) ?? segments[0]?.first ?? 0n)) {
      cuts.push(segment.first);
      rows = 0;
    }
    rows += segment.rows;
  }
  return cuts;
}

/** Times that cut a large part into smaller ones: segments that overlap in time leave no better place. */
async function innerCuts(database: Database, part: TracePart): Promise<bigint[]> {
  const scan = `FROM ${parquetScan(part.segments)} WHERE ${partFilter(part)}`;
  const counted = await database.rows(`SELECT count(*) AS n, min(timestamp_ns) AS first ${scan}`);
  const pieces = Math.ceil(Number(counted[0]?.n ?? 0) / MOST_ROWS);
  if (pieces < 2) return [];
  const shares = Array.from({ length: pieces - 1 }, (_, i) => (i + 1) / pieces);
  const found = await database.rows(
    `SELECT DISTINCT unnest(approx_quantile(timestamp_ns, [${shares.join(", ")}])) AS cut ${scan} ORDER BY 1`,
  );
  const first = counted[0]?.first;
  return found
    .map(({ cut }) => cut)
    .filter((cut) => typeof cut === "bigint" && typeof first === "bigint" && cut > first) as bigint[];
}

/** The parts in order of time; every complete row of every readable segment is in exactly one. A part may be empty. */
export async function planParts(
  database: Database,
  capture: Capture,
  times: ReadonlyMap<string, TimeBounds>,
): Promise<TracePart[]> {
  const segments = timedSegments(capture.segments.access, times);
  const between = (from: bigint | null, end: bigint | null): TracePart => {
    const inside = segments.filter((s) => (from === null || s.last >= from) && (end === null || s.first < end));
    return {
      segments: inside.map((segment) => segment.path),
      complete: inside.every((segment) => segment.complete),
      // A bound that cuts no segment would only cost a comparison per row.
      from_ns: inside.some((s) => from !== null && s.first < from) ? from : null,
      to_ns: inside.some((s) => end !== null && s.last >= end) ? end : null,
      most_rows: inside.reduce((sum, segment) => sum + segment.rows, 0),
    };
  };
  const parts: TracePart[] = [];
  const cuts = [null, ...cutTimes(segments), null];
  for (let i = 0; i + 1 < cuts.length; i++) {
    const [from = null, stop = null] = [cuts[i], cuts[i + 1]];
    const part = between(from, stop);
    if (part.segments.length === 0) continue;
    const inner = part.most_rows > MOST_ROWS ? await innerCuts(database, part) : [];
    const all = [from, ...inner, stop];
    for (let k = 0; k + 1 < all.length; k++) parts.push(between(all[k] ?? null, all[k + 1] ?? null));
  }
  return parts;
}

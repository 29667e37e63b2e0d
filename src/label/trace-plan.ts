/** Cuts the captured accesses into parts of the trace by time, so that each part can be sorted and written alone. */
import type { Capture, Segment } from "./capture.ts";
import { type Database, parquetScan } from "./database.ts";
import { timeBounds } from "./origin.ts";
import { partFilter, type TracePart } from "./trace-sql.ts";

/** Rows that a part has at least, but for the last: what two workers can sort in a few hundred MB. */
export const PART_ROWS = 1 << 19;

export interface PlannedPart extends TracePart {
  /** Number of its first row in the trace. */
  readonly first_sample: number;
  readonly rows: number;
}

interface TimedSegment extends Segment {
  readonly first: bigint;
  readonly last: bigint;
}

async function timedSegments(database: Database, segments: readonly Segment[]): Promise<TimedSegment[]> {
  const timed: TimedSegment[] = [];
  for (const segment of segments) {
    const bounds = await timeBounds(database, "access", segment.path);
    if (bounds !== null) timed.push({ ...segment, ...bounds });
  }
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

/** The parts in order of time; every complete row of every readable segment is in exactly one. */
export async function planParts(database: Database, capture: Capture): Promise<PlannedPart[]> {
  const segments = await timedSegments(database, capture.segments.access);
  if (segments.length === 0) return [];
  const cuts = cutTimes(segments);
  const parts: PlannedPart[] = [];
  let sample = 0;
  for (let i = 0; i <= cuts.length; i++) {
    const from = cuts[i - 1] ?? null;
    const to = cuts[i] ?? null;
    const inside = segments.filter((s) => (from === null || s.last >= from) && (to === null || s.first < to));
    if (inside.length === 0) continue;
    const part = {
      segments: inside.map((segment) => segment.path),
      // A bound that cuts no segment would only cost a comparison per row.
      from_ns: inside.some((s) => from !== null && s.first < from) ? from : null,
      to_ns: inside.some((s) => to !== null && s.last >= to) ? to : null,
    };
    const count = await database.rows(
      `SELECT count(*) AS n FROM ${parquetScan(part.segments)} WHERE ${partFilter(part)}`,
    );
    const rows = Number(count[0]?.n ?? 0);
    if (rows > 0) parts.push({ ...part, first_sample: sample, rows });
    sample += rows;
  }
  return parts;
}

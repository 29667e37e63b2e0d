/**
 * Allocations in the region map: the largest of them, a row for each lifetime, beside the mappings in which they lie.
 *
 * A capture may hold hundreds of millions; all of them are in capture/allocation, and figures count all. Accesses are
 * labelled by mapping and tensor alone: an allocation's time is not known well enough to say that an access met it.
 */
import type { RowOf } from "../../schema/row.ts";
import type { Database } from "../../sql/database.ts";
import { withAllocations } from "../capture/allocation-database.ts";
import type { Capture } from "../capture/capture.ts";
import { CONFIDENCE } from "./evidence.ts";
import type { Regions } from "./region-map.ts";

/** Rows of the region map for allocations, the largest first. */
export const MAX_ALLOCATION_REGIONS = 1 << 16;

/** Allocations by size, in bins of 0.5 %, the largest first. */
const SIZES = `
  SELECT count(*) AS n, min(size_bytes) AS least FROM allocation WHERE size_bytes > 0
  GROUP BY CAST(floor(128 * log2(size_bytes)) AS INTEGER) ORDER BY least DESC`;

/** Sizes that are all in the map, from `whole` up, and of those from `part` up so many as there is room for. */
interface Choice {
  readonly whole: bigint;
  readonly part: bigint;
  readonly room: number;
}

/** Bins of the largest while they fit: to sort hundreds of millions for the last few would take as long as all else. */
async function chooseSizes(database: Database): Promise<Choice | null> {
  let room = MAX_ALLOCATION_REGIONS;
  let whole: bigint | null = null;
  for (const { n, least } of await database.rows(SIZES)) {
    const size = BigInt(String(least));
    if (Number(n) > room) return { whole: whole ?? 2n ** 64n - 1n, part: size, room };
    room -= Number(n);
    whole = size;
  }
  return whole === null ? null : { whole, part: whole, room: 0 };
}

/** The chosen, the largest first. */
const rowsOf = ({ whole, part, room }: Choice): string => `
  WITH chosen AS (
    SELECT * FROM allocation WHERE size_bytes >= ${whole}
    UNION ALL
    (SELECT * FROM allocation WHERE size_bytes >= ${part} AND size_bytes < ${whole} LIMIT ${room})
  )
  SELECT c.pid, c.addr, c.size_bytes, c.allocator, c.timestamp_ns, c.death_ns, s.function, s.file, s.line,
    coalesce(c.death_ns, e.end_ns, c.timestamp_ns) AS last_ns
  FROM chosen AS c
  LEFT JOIN allocation_end AS e ON e.pid = c.pid
  LEFT JOIN (SELECT * FROM allocation_stack WHERE kind = 'python') AS s ON s.pid = c.pid AND s.stack_id = c.stack_id
  ORDER BY c.size_bytes DESC, c.pid, c.birth_order, c.addr`;

const PAGE_BYTES = 4096n;
const SIGNED_END = 1n << 63n;
/** What a signed column can hold. */
const signed = (value: bigint): bigint | null => (value < SIGNED_END ? value : null);

/** The last program that each process executed. */
function epochs({ count, pid, what, facts }: Regions): ReadonlyMap<number, number> {
  const last = new Map<number, number>();
  for (let row = 0; row < count; row++) {
    const epoch = facts[what[row] as number]?.exec_epoch ?? 0;
    if (epoch > (last.get(pid[row] as number) ?? 0)) last.set(pid[row] as number, epoch);
  }
  return last;
}

/** A row of the map; the program of the process is taken to be the last that it executed. */
function regionRow(
  row: Awaited<ReturnType<Database["rows"]>>[number],
  region_id: number,
  epochOf: ReadonlyMap<number, number>,
): RowOf<"region_map"> {
  const [addr, size_bytes, birth_ns, death_ns] = [row.addr, row.size_bytes, row.timestamp_ns, row.last_ns] as [
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  const pid = Number(row.pid);
  return {
    region_id: BigInt(region_id),
    region_type: "runtime",
    page_min: addr / PAGE_BYTES,
    page_max: (addr + size_bytes - 1n) / PAGE_BYTES,
    first_seen_ns: signed(birth_ns),
    last_seen_ns: signed(death_ns),
    access_count: 0n,
    pid,
    exec_epoch: epochOf.get(pid) ?? 0,
    logical_id: null,
    name: row.function === null ? null : `${row.function} (${row.file ?? ""}:${row.line ?? 0})`,
    tensor: null,
    layer: null,
    addr,
    size_bytes,
    mapping_kind: `allocation/${row.allocator}`,
    birth_ns,
    death_ns,
    birth_censored: false,
    death_censored: row.death_ns === null,
    evidence: "memray",
    confidence: CONFIDENCE.memray,
    candidates: null,
    resident_bytes: null,
    resident_looked_ns: null,
    resident_most_bytes: null,
    resident_fullest_bytes: null,
  };
}

/** The largest allocations; rows of the region map are made of some at a time, as all of them would take as much again. */
export interface AllocationRegions {
  readonly count: number;
  /** Rows of the map, from the first of a range to the last before its end. */
  rows(from: number, end: number): RowOf<"region_map">[];
}

/**
 * The largest allocations as rows of the region map, numbered on from the regions; at the bound, those within 0.5 % of a
 * size come as they stand in the capture. Segments that cannot be read are added to `capture.skipped`.
 */
export async function allocationRegions(capture: Capture, regions: Regions): Promise<AllocationRegions> {
  if (capture.segments.allocation.length === 0) return { count: 0, rows: () => [] };
  const found = await withAllocations(capture, async (allocations) => {
    const choice = await chooseSizes(allocations);
    return choice === null ? [] : await allocations.rows(rowsOf(choice));
  });
  const epochOf = epochs(regions);
  return {
    count: found.length,
    rows: (from, end) => found.slice(from, end).map((row, i) => regionRow(row, regions.count + 1 + from + i, epochOf)),
  };
}

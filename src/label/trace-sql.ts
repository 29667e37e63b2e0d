/** The query that turns captured accesses into labelled rows; one part of the trace per call. */
import { columnsOf } from "../schema/columns.ts";
import { cacheLevelSql } from "./cache-level.ts";
import { parquetScan, quote } from "./database.ts";
import { columnList, completeRow } from "./stream-table.ts";
import { sqlType } from "./table-sql.ts";

/** Names of the functions that src/label/label-functions.ts registers. */
export const FUNCTIONS = {
  place: "label_place",
  slot: "label_slot",
  code: "label_code",
  sample: "next_sample",
} as const;

/** Where each column of `trace` comes from: `s` is the row, `r` its region, `t` its slot of time, `c` its code. */
const SOURCES: Readonly<Record<string, string>> = {
  sample_id: `${FUNCTIONS.sample}(s.timestamp_ns)`,
  timestamp_ns: "s.timestamp_ns",
  phase: "t.phase",
  address: "s.address",
  address_page: "s.address >> 12",
  op_type: "s.op_type",
  symbol: "c.symbol",
  dso: "c.dso",
  region_type: "r.region_type",
  region_id: "r.region_id",
  // What a source gives is cycles, never ns, and no source here says which node.
  access_latency_ns: "NULL",
  numa_node: "NULL",
  cache_level: cacheLevelSql("s.data_src"),
  cpu_id: "s.cpu",
  thread_id: "s.tid",
  token_index: "t.token_index",
  context_tokens: "t.context_tokens",
  pid: "s.pid",
  source: "s.source",
  ip: "s.ip",
  period: "s.period",
  watch_id: "s.watch_id",
  step: "t.step",
  logical_id: "r.logical_id",
  tensor: "r.tensor",
  confidence: "r.confidence",
  weight_cycles: "s.weight_cycles",
};

export interface TracePart {
  readonly segments: readonly string[];
  /** Rows with from <= timestamp_ns < to; null for no bound. */
  readonly from_ns: bigint | null;
  readonly to_ns: bigint | null;
}

/** SQL that is true for the complete rows of a part. */
export function partFilter(part: TracePart): string {
  const conditions = [completeRow("access")];
  if (part.from_ns !== null) conditions.push(`timestamp_ns >= ${part.from_ns}`);
  if (part.to_ns !== null) conditions.push(`timestamp_ns < ${part.to_ns}`);
  return conditions.join(" AND ");
}

/** The labelled rows of a part in order of time, with exactly the columns of `trace`. */
export function labelledRows(part: TracePart, runId: string): string {
  const columns = columnsOf("trace").map((column) => {
    const from = column.name === "run_id" ? quote(runId) : (SOURCES[column.name] ?? "NULL");
    return `CAST(${from} AS ${sqlType(column)}) AS ${column.name}`;
  });
  return `
    SELECT ${columns.join(", ")}
    FROM (
      SELECT *, ${FUNCTIONS.place}(pid, address, timestamp_ns) AS place, ${FUNCTIONS.slot}(pid, timestamp_ns) AS slot,
        ${FUNCTIONS.code}(pid, ip) AS code
      FROM (
        SELECT ${columnList("access")}
        FROM ${parquetScan(part.segments, "file_row_number = true")}
        WHERE ${partFilter(part)}
        ORDER BY timestamp_ns, cpu, file_row_number
      )
    ) AS s
    JOIN label_regions AS r ON r.place = s.place
    JOIN label_slots AS t ON t.slot = s.slot
    JOIN label_codes AS c ON c.code = s.code`;
}

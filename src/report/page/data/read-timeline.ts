/** The target over time for the page: memory, faults, phases and tokens, as many points as can be seen. */
import { existsSync } from "node:fs";
import { type Database, parquetScan } from "../../../sql/database.ts";
import type { Maybe, PhaseSpan, TimelineColumns } from "./page-data.ts";

const MOST_POINTS = 1024;

export interface ReadTimeline {
  readonly points: Maybe<TimelineColumns>;
  readonly phases: readonly PhaseSpan[];
}

/** Rows of process_timeline.parquet, neighbours taken together where there are many: most of the memory, sum of the faults. @throws what the SQL engine throws */
export async function readTimeline(
  database: Database,
  path: string,
  span: { readonly origin_ns: bigint; readonly duration_ns: number },
): Promise<ReadTimeline> {
  if (!existsSync(path)) return { points: { why: "the run has no process_timeline.parquet" }, phases: [] };
  const scan = parquetScan([path]);
  const ms = (name: string): string => `(${name}::BIGINT - ${span.origin_ns}) / 1e6`;
  const rows = await database.rows(
    `SELECT min(ms) AS ms, max(rss_anon_bytes) AS anon, max(rss_file_bytes) AS file, max(rss_shmem_bytes) AS shmem,
       sum(minor_faults) AS minor, sum(major_faults) AS major, max(token_index) AS token
     FROM (SELECT *, ${ms("timestamp_ns")} AS ms, ntile(${MOST_POINTS}) OVER (ORDER BY timestamp_ns) AS point FROM ${scan})
     GROUP BY point ORDER BY ms`,
  );
  if (rows.length === 0) return { points: { why: "the process was gone before its memory could be read" }, phases: [] };
  const phases = await database.rows(
    `SELECT phase, step, min(ms) AS begin_ms, max(ms) AS end_ms FROM (
       SELECT phase, step, ms, sum(changed) OVER (ORDER BY ms ROWS UNBOUNDED PRECEDING) AS part FROM (
         SELECT phase, step, ${ms("timestamp_ns")} AS ms,
           (lag(concat(phase, '/', step)) OVER (ORDER BY timestamp_ns) IS DISTINCT FROM concat(phase, '/', step))::INTEGER AS changed
         FROM ${scan}))
     WHERE phase IS NOT NULL GROUP BY part, phase, step ORDER BY begin_ms`,
  );
  const column = (name: string): number[] => rows.map((row) => Number(row[name] ?? 0));
  return {
    points: {
      data: {
        time_ms: column("ms").map(Math.round),
        rss_anon_bytes: column("anon"),
        rss_file_bytes: column("file"),
        rss_shmem_bytes: column("shmem"),
        minor_faults: column("minor"),
        major_faults: column("major"),
        token_index: rows.map(({ token }) => (token === null || token === undefined ? null : Number(token))),
      },
    },
    phases: phases.map((row, i): PhaseSpan => {
      const next = phases[i + 1];
      return {
        phase: String(row.phase),
        step: typeof row.step === "string" ? row.step : null,
        begin_ms: Math.round(Number(row.begin_ms)),
        // A span ends where the next one begins: between two readings nobody looked.
        end_ms: Math.round(Number(next?.begin_ms ?? row.end_ms)),
      };
    }),
  };
}

/** Blocks on which samples of stores fell, reduced in SQL. */
import type { DuckDBValue } from "@duckdb/node-api";
import type { Database } from "../label/database.ts";
import { PAGE_GRAINS, type StoreRuns, type WrittenBlocks } from "./input.ts";
import { WRITTEN_BLOCKS } from "./sql/written-blocks.ts";

type Row = Record<string, DuckDBValue>;

/** A class as one source saw it. */
export function sourceKey(row: Row): string {
  return [row.region_type, row.mapping_kind ?? "", row.source].join("\0");
}

function runsOf(row: Row | undefined): StoreRuns {
  return {
    blocks: Number(row?.blocks ?? 0),
    runs: Number(row?.runs ?? 0),
    samples: Number(row?.samples ?? 0),
    runs_of_1: Number(row?.runs_of_1 ?? 0),
    runs_of_2: Number(row?.runs_of_2 ?? 0),
  };
}

/**
 * Written blocks of every page grain by `sourceKey`. The database must hold what WRITTEN_BLOCKS reads, but for `lives`.
 * @param clears CLOCK_MONOTONIC times at which the life of every cache cell ends, ascending
 */
export async function loadWrittenBlocks(
  database: Database,
  clears: readonly bigint[],
): Promise<Map<string, WrittenBlocks[]>> {
  const far = 2n ** 62n;
  const ends = [...clears, far];
  const lives = ends.map((end, life) => `(${ends[life - 1] ?? -far}, ${end}, ${life})`);
  await database.run(
    `CREATE OR REPLACE TABLE lives AS SELECT CAST(b AS BIGINT) AS begin_ns, CAST(e AS BIGINT) AS end_ns, l AS life FROM (VALUES ${lives.join(", ")}) AS v(b, e, l)`,
  );
  const rows = await database.rows(WRITTEN_BLOCKS);
  const out = new Map<string, WrittenBlocks[]>();
  for (const key of new Set(rows.map(sourceKey))) {
    const own = rows.filter((row) => sourceKey(row) === key);
    const of = (grain: number, seen: string): StoreRuns =>
      runsOf(own.find((row) => Number(row.grain) === grain && row.seen === seen));
    out.set(
      key,
      PAGE_GRAINS.map((grain) => ({
        grain_bytes: grain,
        once: of(grain, "once"),
        rewritten: of(grain, "rewritten"),
        open: of(grain, "open"),
      })),
    );
  }
  return out;
}

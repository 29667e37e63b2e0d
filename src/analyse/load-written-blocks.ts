/** Blocks on which samples of stores fell, reduced in SQL. */
import type { DuckDBValue } from "@duckdb/node-api";
import type { Database } from "../label/database.ts";
import { PAGE_GRAINS, type StoreRuns, type WrittenBlocks } from "./input.ts";
import { STORE_SAMPLES, WRITTEN_BLOCKS } from "./sql/written-blocks.ts";

type Row = Record<string, DuckDBValue>;

/** Samples of stores that are put into order at a time: some 100 MB of the engine, and 5 s of one core. */
const PART_SAMPLES = 1 << 19;
/** With more, the order would take a minute and more. */
export const MOST_SAMPLES = 1 << 21;

/** A class as one source saw it. */
export function sourceKey(row: Row): string {
  return [row.region_type, row.mapping_kind ?? "", row.source].join("\0");
}

function runsOf(rows: readonly Row[]): StoreRuns {
  const sum = (name: string): number => rows.reduce((total, row) => total + Number(row[name]), 0);
  return {
    blocks: sum("blocks"),
    runs: sum("runs"),
    samples: sum("samples"),
    runs_of_1: sum("runs_of_1"),
    runs_of_2: sum("runs_of_2"),
  };
}

/** The rows of WRITTEN_BLOCKS, part by part: a block lies in one part, so that counts of blocks add up. */
async function rowsInParts(database: Database, samples: number, partSamples: number): Promise<Row[]> {
  const parts = Math.max(1, Math.ceil(samples / partSamples));
  const rows: Row[] = [];
  for (let rest = 0; rest < parts; rest++) {
    await database.run(`CREATE OR REPLACE TABLE part AS SELECT ${parts} AS parts, ${rest} AS rest`);
    rows.push(...(await database.rows(WRITTEN_BLOCKS)));
  }
  return rows;
}

/**
 * Written blocks of every page grain by `sourceKey`. The database must hold what WRITTEN_BLOCKS reads, but for `lives` and `part`.
 * @param clears CLOCK_MONOTONIC times at which the life of every cache cell ends, ascending
 * @returns null where there are more than MOST_SAMPLES samples of stores
 */
export async function loadWrittenBlocks(
  database: Database,
  clears: readonly bigint[],
  partSamples = PART_SAMPLES,
): Promise<Map<string, WrittenBlocks[]> | null> {
  const [counted] = await database.rows(STORE_SAMPLES);
  const samples = Number(counted?.n ?? 0);
  if (samples > MOST_SAMPLES) return null;
  const far = 2n ** 62n;
  const ends = [...clears, far];
  const lives = ends.map((end, life) => `(${ends[life - 1] ?? -far}, ${end}, ${life})`);
  await database.run(
    `CREATE OR REPLACE TABLE lives AS SELECT CAST(b AS BIGINT) AS begin_ns, CAST(e AS BIGINT) AS end_ns, l AS life FROM (VALUES ${lives.join(", ")}) AS v(b, e, l)`,
  );
  const rows = await rowsInParts(database, samples, partSamples);
  const out = new Map<string, WrittenBlocks[]>();
  for (const key of new Set(rows.map(sourceKey))) {
    const own = rows.filter((row) => sourceKey(row) === key);
    const of = (grain: number, seen: string): StoreRuns =>
      runsOf(own.filter((row) => Number(row.grain) === grain && row.seen === seen));
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

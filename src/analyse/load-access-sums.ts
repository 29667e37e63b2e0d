/** Sums of sampled accesses; only the sums come into memory. */
import type { DuckDBValue } from "@duckdb/node-api";
import { type Database, parquetScan } from "../label/database.ts";
import { type AccessSums, GRAINS, type RegionType, type StepSample, type WrittenBlocks } from "./input.ts";
import { ACCESS_BLOCKS } from "./sql/access-blocks.ts";
import { ACCESS_LINES } from "./sql/access-lines.ts";
import { sourceKey } from "./stores/store-owners.ts";
import type { StoreRegion } from "./stores/store-regions.ts";
import { storeSamples } from "./stores/store-samples.ts";
import { writtenBlocks } from "./stores/written-blocks.ts";

/** Length of a block of time where there are no tokens, ns. */
const BLOCK_NS = 100e6;
type StepName = AccessSums["step"];
type Row = Record<string, DuckDBValue>;

export interface SumsInput {
  readonly traceParts: readonly string[];
  readonly regions: readonly StoreRegion[];
  readonly steps: readonly StepSample[];
  readonly originNs: bigint;
  readonly windowNs: number;
  /** Times at which the engine emptied its cache, ns since the origin, ascending. */
  readonly clears: Float64Array;
  /** Stores closer than this belong to one write epoch. */
  readonly gapNs: number;
}

/** Begin and end of what the sums cover: generation, else the whole run; ns since the origin. */
function coveredSpan(input: SumsInput): { readonly begin_ns: number; readonly end_ns: number } {
  const { steps, windowNs } = input;
  if (steps.length === 0) return { begin_ns: 0, end_ns: windowNs };
  return {
    begin_ns: steps.reduce((least, step) => Math.min(least, step.begin_ns), Number.POSITIVE_INFINITY),
    end_ns: steps.reduce((most, step) => Math.max(most, step.end_ns), 0),
  };
}

/** Block numbers of each step, so that a block without accesses counts as zero. */
function blocksOf(step: StepName, input: SumsInput): number[] {
  if (step === "decode")
    return Array.from({ length: input.steps.filter((s) => s.step === "decode").length }, (_, i) => i);
  const blocks = new Set<number>();
  const spans = step === "prefill" ? input.steps.filter((s) => s.step === "prefill") : [coveredSpan(input)];
  for (const span of spans) {
    for (let block = Math.floor(span.begin_ns / BLOCK_NS); block * BLOCK_NS <= span.end_ns; block++) blocks.add(block);
  }
  return [...blocks].sort((left, right) => left - right);
}

/** A class as one source saw it. */
function classKey(row: Row): string {
  const mapping_kind = row.mapping_kind === null ? null : String(row.mapping_kind);
  return sourceKey({ region_type: String(row.region_type), mapping_kind }, String(row.source));
}

function stepKey(row: Row): string {
  return `${classKey(row)}\0${row.step}`;
}

function sumsOf(
  lines: Row,
  blocks: readonly Row[],
  positions: ReadonlyMap<number, number>,
  written: readonly WrittenBlocks[],
): AccessSums {
  const loads = new Float64Array(positions.size);
  const stores = new Float64Array(positions.size);
  let rows = 0;
  for (const row of blocks) {
    rows += Number(row.n);
    const position = row.block === null ? undefined : positions.get(Number(row.block));
    if (position === undefined) continue;
    loads[position] = Number(row.loads);
    stores[position] = Number(row.stores);
  }
  return {
    region_type: String(lines.region_type) as RegionType,
    mapping_kind: lines.mapping_kind === null ? null : String(lines.mapping_kind),
    step: String(lines.step) as StepName,
    source: String(lines.source),
    period_known: true,
    loads,
    stores,
    rows,
    seen: GRAINS.map((grain) => ({
      grain_bytes: grain,
      distinct: Number(lines[`distinct_${grain}`]),
      once: Number(lines[`once_${grain}`]),
      twice: Number(lines[`twice_${grain}`]),
    })),
    written,
  };
}

interface Reduced {
  readonly lines: readonly Row[];
  /** By class, source and step. */
  readonly blocks: ReadonlyMap<string, readonly Row[]>;
}

async function reduceInSql(database: Database): Promise<Reduced> {
  const lines = await database.rows(ACCESS_LINES);
  const blocks = new Map<string, Row[]>();
  for (const row of await database.rows(ACCESS_BLOCKS)) {
    const key = stepKey(row);
    const list = blocks.get(key);
    if (list === undefined) blocks.set(key, [row]);
    else list.push(row);
  }
  return { lines, blocks };
}

/** Sums per class, step and source. The database must hold the table `region_map`. */
export async function loadAccessSums(database: Database, input: SumsInput): Promise<AccessSums[]> {
  const span = coveredSpan(input);
  const whole = (ns: number): number => Math.round(Number.isFinite(ns) ? ns : 0);
  const at = (ns: number): bigint => input.originNs + BigInt(whole(ns));
  await database.run(`CREATE OR REPLACE VIEW trace AS SELECT * FROM ${parquetScan(input.traceParts)}`);
  await database.run(
    `CREATE OR REPLACE TABLE span AS SELECT CAST(${at(0)} AS BIGINT) AS origin_ns, CAST(${at(span.begin_ns)} AS BIGINT) AS begin_ns, CAST(${at(span.end_ns)} AS BIGINT) AS end_ns`,
  );
  const reducing = reduceInSql(database);
  const stores = {
    ...input,
    begin_ns: whole(span.begin_ns),
    end_ns: whole(span.end_ns),
    clears: input.clears.map(whole),
  };
  // The SQL engine counts on its own threads meanwhile; it must have ended when this fails and it is closed.
  const written = await writtenBlocks(stores, () => storeSamples(input.traceParts)).finally(() =>
    reducing.catch(() => {}),
  );
  const { lines, blocks } = await reducing;
  const positions = new Map(
    (["prefill", "decode", "none"] as const).map((step) => [
      step,
      new Map(blocksOf(step, input).map((block, index) => [block, index])),
    ]),
  );
  return lines.map((row) =>
    sumsOf(
      row,
      blocks.get(stepKey(row)) ?? [],
      positions.get(String(row.step) as StepName) ?? new Map(),
      row.step === "none" ? (written.get(classKey(row)) ?? []) : [],
    ),
  );
}

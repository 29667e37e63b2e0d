/** Reduces a labelled trace that was recorded elsewhere to what the metrics read. */
import { assertRefusal } from "../../columnar/read/refusal.ts";
import type { Heat } from "../../label/trace/heat-sums.ts";
import { countRegions, type TraceFile } from "../../label/trace/trace-file.ts";
import type { Database } from "../../sql/database.ts";
import type { AccessStream, AccessSums } from "../input/input.ts";
import { type AccessBuckets, accessBuckets } from "./access-buckets.ts";
import { type AddressSums, addressPass, addressSums } from "./address-pass.ts";
import { GROUPS } from "./binned-times.ts";
import { decodeAccesses } from "./decode-accesses.ts";
import { regionCounter } from "./region-counter.ts";
import { type RegionSum, type RegionSums, regionSums } from "./region-sums.ts";
import { sumOf } from "./stream-figures.ts";
import { type TimePass, timePass } from "./time-pass.ts";
import { type AccessColumns, CLASSES, readAccesses } from "./trace-columns.ts";

const PAGE_BYTES = 4096;
/** Accesses sorted at a time: bounds the memory to about 150 MiB. */
const MOST_ROWS = 1 << 22;

export interface ReducedTrace {
  readonly origin_ns: bigint;
  readonly window_ns: number;
  /** Regions of each class by the trace's own numbering. */
  readonly regions: ReadonlyMap<string, number>;
  /** Rows used; the others lack an address or a time. */
  readonly rows: number;
  readonly sums: readonly AccessSums[];
  /** Classes of a trace that holds every access; empty for a sampled one. */
  readonly streams: readonly AccessStream[];
  /** Of the regions of a trace that holds every access; none where it numbers none, or only the SQL engine decodes it. */
  readonly regionSums: readonly RegionSum[];
  /** False where it has more regions than those. */
  readonly areRegionsWhole: boolean;
  /** By address and time; rows where nobody knows the period. */
  readonly heat: Heat;
}

/** Parts of one trace, each small enough to sort. */
async function takeParts(
  database: Database,
  query: Parameters<typeof readAccesses>[1],
  time: TimePass,
  sums: readonly AddressSums[],
  mostRows: number,
): Promise<void> {
  // Parts are of uneven size: on average half of what may be.
  const passCount = Math.ceil(time.rows / (mostRows / 2));
  for (let index = 0; index < passCount; index++) {
    const buckets = accessBuckets();
    await readAccesses(database, { ...query, part: { index, of: passCount } }, (columns) =>
      buckets.add(columns, time.first_ns),
    );
    buckets.drain((rows) => addressPass(rows, time.window_ns, sums));
  }
}

function sumsOf(kind: number, time: TimePass, addresses: AddressSums, period: number | null): AccessSums | null {
  const rowsOf = (sums: Float64Array): Float64Array => sums.slice(kind * GROUPS, kind * GROUPS + time.blocks);
  const [loads, stores] = [rowsOf(time.loads), rowsOf(time.stores)];
  const unknown = sumOf(rowsOf(time.unknown));
  const weighted = (rows: Float64Array): Float64Array => rows.map((n) => n * (period ?? 1));
  if (addresses.lines.distinct === 0) return null;
  return {
    region_type: CLASSES[kind] ?? "unknown",
    mapping_kind: null,
    step: "none",
    source: "import",
    loads: weighted(loads),
    stores: weighted(stores),
    load_rows: sumOf(loads),
    store_rows: sumOf(stores),
    unknown: { accesses: unknown * (period ?? 1), rows: unknown },
    block_ns: time.block_ns,
    blocks_from_ns: 0,
    period_known: period !== null,
    rows: addresses.addresses.reduce((a, b) => a + b, 0) + addresses.reuse.n,
    seen: [
      { grain_bytes: 64, ...addresses.lines },
      { grain_bytes: PAGE_BYTES, ...addresses.pages },
    ],
    written: [],
  };
}

/** One pass over all rows; they are kept where they are few enough to be sorted at once. */
interface Pass {
  readonly time: TimePass;
  readonly buckets: AccessBuckets;
  take(columns: AccessColumns): void;
}

function newPass(keep: boolean, period: number | null): Pass {
  const time = timePass(period ?? 1);
  const buckets = accessBuckets();
  return {
    time,
    buckets,
    take(columns) {
      time.add(columns);
      if (keep) buckets.add(columns, time.first_ns);
    },
  };
}

/** Null where the file has what only the SQL engine decodes, or is broken: that says how. */
async function decodedPass(
  { path, decodable }: TraceFile,
  keep: boolean,
  period: number | null,
): Promise<{ pass: Pass; regions: ReadonlyMap<string, number>; byRegion: RegionSums | null } | null> {
  if (!decodable) return null;
  const pass = newPass(keep, period);
  const regions = regionCounter();
  const byRegion = period === 1 ? regionSums() : null;
  try {
    await decodeAccesses(path, regions, byRegion, pass.take);
  } catch (error) {
    assertRefusal(error);
    return null;
  }
  return { pass, regions: regions.counts(), byRegion };
}

/**
 * Reads a trace once, or in parts where it is too large to sort in memory.
 * @param period accesses that each row stands for; 1 where the trace holds every access, null where nobody knows
 * @param mostRows rows that are sorted at a time
 */
export async function reduceTrace(
  database: () => Promise<Database>,
  file: TraceFile,
  period: number | null,
  mostRows = MOST_ROWS,
): Promise<ReducedTrace> {
  const query = { paths: [file.path], threads: file.has_threads, part: null };
  const whole = file.rows <= mostRows;
  const queriedPass = async (inOrderOfTime: boolean): Promise<Pass> => {
    const pass = newPass(whole, period);
    await readAccesses(await database(), { ...query, inOrderOfTime }, pass.take);
    return pass;
  };
  let {
    pass,
    regions: knownRegions,
    byRegion,
  } = (await decodedPass(file, whole, period)) ?? {
    pass: await queriedPass(false),
    regions: null,
    byRegion: null,
  };
  const inOrderOfTime = !pass.time.inOrder;
  if (inOrderOfTime) pass = await queriedPass(true);
  const { time, buckets } = pass;
  time.end();
  const classSums = CLASSES.map(() => addressSums());
  // The SQL engine counts on its own threads while this one sorts.
  const counting = knownRegions ?? countRegions(await database(), file);
  if (whole) buckets.drain((rows) => addressPass(rows, time.window_ns, classSums));
  else await takeParts(await database(), { ...query, inOrderOfTime }, time, classSums, mostRows);
  const sums: AccessSums[] = [];
  const streams: AccessStream[] = [];
  classSums.forEach((addresses, kind) => {
    const reduced = sumsOf(kind, time, addresses, period);
    if (reduced === null) return;
    sums.push(reduced);
    const part = (sum: Float64Array) => sum.slice(kind * GROUPS, kind * GROUPS + time.blocks);
    const [strides, runs] = [time.strides[kind], time.runs[kind]];
    if (period !== 1 || strides === undefined || runs === undefined) return;
    streams.push({
      ...addresses,
      region_type: reduced.region_type,
      mapping_kind: null,
      pairs: part(time.pairs),
      same_page: part(time.same_page),
      strides,
      runs,
    });
  });
  const regions = await counting;
  const { first_ns: origin_ns, window_ns, rows } = time;
  const heat = { bin_ns: time.heat.bin_ns, planes: time.heat.planes };
  return {
    origin_ns,
    window_ns,
    regions,
    rows,
    sums,
    streams,
    heat,
    regionSums: byRegion?.sums() ?? [],
    areRegionsWhole: byRegion?.isWhole ?? true,
  };
}

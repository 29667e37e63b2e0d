/** Sums of sampled accesses as the metrics read them. */

import type { Regions } from "../../label/regions/region-map.ts";
import type { RegionType } from "../../schema/words.ts";
import { type BlockPlan, blockPlan } from "../sampled/block-sums.ts";
import { reduceSamples, type SourceSums } from "../sampled/reduce-samples.ts";
import { sourceKey } from "../sampled/sample-owners.ts";
import { type SampledRows, STEPS, sampledRows } from "../sampled/sampled-rows.ts";
import type { AccessSums, RegionSamples, StepSample, WrittenBlocks } from "./input.ts";
import { spansOf } from "./span.ts";

export interface SumsInput extends SummedInput {
  readonly traceParts: readonly string[];
}

/** What is summed, beside the samples themselves. */
export interface SummedInput {
  readonly regions: Regions;
  readonly steps: readonly StepSample[];
  readonly originNs: bigint;
  readonly windowNs: number;
  /** Times at which the engine emptied its cache, ns since the origin, ascending. */
  readonly clears: Float64Array;
  /** Stores closer than this belong to one write epoch. */
  readonly gapNs: number;
  /** For what is known of blocks while they are counted. */
  readonly memoryBytes: number;
}

const wholeNs = (ns: number): number => Math.round(Number.isFinite(ns) ? ns : 0);

/** Begin and end of what the sums cover, which is what the figures are of: generation, else the whole run; whole ns since the origin. */
function coveredSpan({ steps, windowNs }: SummedInput): { readonly begin_ns: number; readonly end_ns: number } {
  const [whole] = spansOf(steps, windowNs);
  return { begin_ns: wholeNs(whole?.begin_ns[0] ?? 0), end_ns: wholeNs(whole?.end_ns.at(-1) ?? windowNs) };
}

/** The sums of each step that has samples. */
function sumsOf(part: SourceSums, { block_ns, blocks_from_ns }: BlockPlan): AccessSums[] {
  const hasStores = part.written.some(({ once, rewritten, open }) => once.blocks + rewritten.blocks + open.blocks > 0);
  const written: readonly WrittenBlocks[] = hasStores ? part.written : [];
  return STEPS.flatMap((step, i) => {
    const rows = part.rows[i] ?? 0;
    if (rows === 0) return [];
    return {
      region_type: part.class.region_type as RegionType,
      mapping_kind: part.class.region_type === "unknown" ? part.class.mapping_kind : null,
      step,
      source: part.source,
      period_known: part.is_counted,
      loads: part.loads[i] ?? new Float64Array(0),
      stores: part.stores[i] ?? new Float64Array(0),
      ...(step === "none" ? { block_ns, blocks_from_ns } : {}),
      rows,
      load_rows: part.load_rows[i] ?? 0,
      store_rows: part.store_rows[i] ?? 0,
      seen: part.seen[i] ?? [],
      written: step === "none" ? written : [],
    };
  });
}

/** Regions that are told for themselves: those with most rows in the trace. Bounds the time and the memory. */
const MOST_REGIONS = 128;
/** Of fewer samples no figure is told. */
const FEWEST_SAMPLES = 30;

/**
 * Sums of single regions per source; the trace is read once more.
 * @param rowsOf rows of the trace that met a region, from 0
 */
export async function loadRegionSamples(input: SumsInput, rowsOf: (row: number) => number): Promise<RegionSamples[]> {
  const met = [...Array(input.regions.count).keys()].filter((row) => rowsOf(row) >= FEWEST_SAMPLES);
  const single = met.sort((a, b) => rowsOf(b) - rowsOf(a) || a - b).slice(0, MOST_REGIONS);
  if (single.length === 0) return [];
  const span = coveredSpan(input);
  const plan = blockPlan(span, input.steps);
  const clears = input.clears.map(wholeNs);
  const reduced = await reduceSamples({ ...input, ...span, plan, clears, single: single.map((row) => row + 1) }, () =>
    sampledRows(input.traceParts),
  );
  const bySource = (a: AccessSums, b: AccessSums): number => (a.source < b.source ? -1 : 1);
  return single.flatMap((row) => {
    const mine = reduced.filter((one) => one.class.region === row + 1).flatMap((one) => sumsOf(one, plan));
    const sums = mine.filter(({ step, rows }) => step === "none" && rows >= FEWEST_SAMPLES).sort(bySource);
    return sums.length === 0 ? [] : [{ row, sums }];
  });
}

/**
 * Sums per class, step and source, in an order that the samples do not change.
 * @param read gives all samples in order of time, each time that it is called
 */
export async function sumAccesses(input: SummedInput, read: () => AsyncIterable<SampledRows>): Promise<AccessSums[]> {
  const span = coveredSpan(input);
  const plan = blockPlan(span, input.steps);
  const reduced = await reduceSamples({ ...input, ...span, plan, clears: input.clears.map(wholeNs) }, read);
  const keyed = reduced.map((one) => ({ of: one, key: sourceKey(one.class, one.source) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).flatMap(({ of: sum }) => sumsOf(sum, plan));
}

/** The same of the samples in the files of a trace. */
export function loadAccessSums(input: SumsInput): Promise<AccessSums[]> {
  return sumAccesses(input, () => sampledRows(input.traceParts));
}

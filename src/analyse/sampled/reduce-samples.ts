/** Samples of each class and source, reduced in one pass over the trace: sums by block of time, blocks seen, blocks written. */
import { twoWords } from "../../columnar/two-words.ts";
import { MrmTraceError } from "../../errors.ts";
import type { Regions } from "../../label/regions/region-map.ts";
import { OP } from "../../schema/operation.ts";
import { formatBytes } from "../../units.ts";
import { PAGE_GRAINS } from "../input/input.ts";
import { addToBlock, type BlockPlan, type BlockSums, blockSums } from "./block-sums.ts";
import { type SampleClass, type SampleOwners, sampleOwners } from "./sample-owners.ts";
import { type NumberedRegions, numberedRegions, singleRegions } from "./sample-regions.ts";
import type { SampledRows } from "./sampled-rows.ts";
import { type SeenSums, seenPages, seenSums } from "./seen-pages.ts";
import { type WriteRuns, type WrittenSums, writeRuns, writtenSums } from "./write-runs.ts";

const WORD = 2 ** 32;
const SHIFTS = PAGE_GRAINS.map((grain) => 31 - Math.clz32(grain));
/** That of the largest grain: a block of any lies whole in one part. */
const PART_SHIFT = Math.max(...SHIFTS);
/** What a page and a written block take, with what it takes to find them. */
const PAGE_BYTES = 88;
const WRITTEN_BYTES = 144;
/** Terabytes of touched memory: beyond it something else is wrong. */
const MOST_PARTS = 1 << 12;
/** A timer sees loads that stall, and stores hide behind them. */
const BLIND = "clock";

export interface SamplesInput {
  readonly regions: Regions;
  /** Numbers of the regions, from 1, of which each is to be told for itself and all others are passed over; absent for classes. */
  readonly single?: readonly number[];
  readonly originNs: bigint;
  /** First and last moment that counts, whole ns since the origin. */
  readonly begin_ns: number;
  readonly end_ns: number;
  readonly plan: BlockPlan;
  /** When the engine emptied its cache, which ends the life of each of its blocks: whole ns since the origin, ascending. */
  readonly clears: Float64Array;
  /** Stores closer than this belong to one write epoch. */
  readonly gapNs: number;
  /** For what is known of blocks, about; 1 MiB or more, so that what one process does to 2 MiB fits into it. */
  readonly memoryBytes: number;
}

/** What is known of a class as one source saw it. */
export interface SourceSums extends BlockSums {
  readonly class: SampleClass;
  readonly source: string;
  /** False of samples that stand for no number of accesses: they tell what was touched. */
  readonly is_counted: boolean;
  readonly seen: SeenSums;
  /** By position in PAGE_GRAINS. */
  readonly written: readonly WrittenSums[];
}

type Owners = SampleOwners<SourceSums>;

/** One of `of` (a power of two) sets of blocks. */
interface Part {
  readonly index: number;
  readonly of: number;
}

function partOf(low: number, high: number, pid: number, parts: number): number {
  const block = (low >>> PART_SHIFT) | (high << (32 - PART_SHIFT));
  const mixed = Math.imul(block, 0x9e3779b1) ^ Math.imul(pid, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 15)) & (parts - 1);
}

/** Takes a sample of a store; false where there is no room for another block. */
function takeStore(
  runs: readonly WriteRuns[],
  regions: NumberedRegions,
  region: number,
  owner: number,
  low: number,
  high: number,
  time_ns: number,
  life: number,
): boolean {
  for (let grain = 0; grain < SHIFTS.length; grain++) {
    const shift = SHIFTS[grain] as number;
    const blockLow = ((low >>> shift) | (high << (32 - shift))) >>> 0;
    const blockHigh = high >>> shift;
    const begin = (blockLow + blockHigh * WORD) * 2 ** shift;
    const dies = regions.deathAround(region, begin, begin + 2 ** shift);
    if (!(runs[grain] as WriteRuns).add(owner, blockLow, blockHigh, time_ns, dies, life)) return false;
  }
  return true;
}

/** Takes every sample of the part; false where it has more blocks than there is memory for. */
async function takePart(
  input: SamplesInput,
  regions: NumberedRegions,
  owners: Owners,
  samples: AsyncIterable<SampledRows>,
  part: Part,
): Promise<boolean> {
  const { clears, begin_ns, end_ns, plan, memoryBytes } = input;
  const sumsOf = (owner: number): SourceSums => owners.sums[owner] as SourceSums;
  const pages = seenPages(Math.floor(memoryBytes / 2 / PAGE_BYTES));
  const runs = SHIFTS.map((_, grain) =>
    writeRuns(
      input.gapNs,
      Math.floor(memoryBytes / 4 / WRITTEN_BYTES),
      (owner) => sumsOf(owner).written[grain] as WrittenSums,
    ),
  );
  const { low: originLow, high: originHigh } = twoWords(input.originNs);
  let life = 0;
  for await (const group of samples) {
    const { rows, address, timestamp_ns, region_id, pid: pids, source: from, sources, op: ops } = group;
    const blind = sources.indexOf(BLIND);
    for (let i = 0; i < rows; i++) {
      const low = address[2 * i] as number;
      const high = address[2 * i + 1] as number;
      const pid = pids[i] as number;
      const time =
        (timestamp_ns[2 * i] as number) - originLow + ((timestamp_ns[2 * i + 1] as number) - originHigh) * WORD;
      if (time < begin_ns || time > end_ns || partOf(low, high, pid, part.of) !== part.index) continue;
      const region = region_id[i] as number;
      const source = from[i] as number;
      const kind = regions.classOf(region);
      if (kind < 0) continue;
      const step = plan.stepAt(time);
      const op = ops[i] as number;
      const given = group.period[i] as number;
      const isCounted = !Number.isNaN(given);
      const period = isCounted ? given : 0;
      const owner = owners.find(kind, source, sources, pid, isCounted);
      const sums = owners.sums[owner] as SourceSums;
      addToBlock(sums, 0, plan.blockOf(0, time), op, period);
      if (step > 0) addToBlock(sums, step, plan.blockOf(step, time), op, period);
      if (!pages.add(owner, low, high, step)) return false;
      if ((op !== OP.store && op !== OP.load_store) || source === blind || !isCounted) continue;
      while ((clears[life] ?? Number.POSITIVE_INFINITY) <= time) life += 1;
      const lifeNumber = regions.isCache(region) ? life : 0;
      if (!takeStore(runs, regions, region, owner, low, high, time, lifeNumber)) return false;
    }
  }
  pages.finish((owner) => sumsOf(owner).seen);
  for (const each of runs) each.finish();
  return true;
}

/** Samples that stand for no number of accesses tell what a source saw where it has no others: beside them they are of the same accesses. */
function besidesNone(all: readonly SourceSums[]): SourceSums[] {
  const counted = new Set(all.filter(({ is_counted }) => is_counted).map(({ source }) => source));
  return all.filter(({ is_counted, source }) => is_counted || !counted.has(source));
}

/**
 * Reduces samples by class and source. The life of a written block ends where the engine empties its cache, and where a
 * region that held the whole block dies.
 * @param read gives all samples in order of time, each time that it is called: once, or once for each part of the blocks
 *   where there is no memory for all of them
 * @returns in the order in which classes and sources were first met
 * @throws MrmTraceError data_quality where not even small parts fit; whatever `read` throws
 */
export async function reduceSamples(
  input: SamplesInput,
  read: () => AsyncIterable<SampledRows>,
): Promise<readonly SourceSums[]> {
  const { single } = input;
  const regions = single === undefined ? numberedRegions(input.regions) : singleRegions(input.regions, single);
  for (let parts = 1; parts <= MOST_PARTS; parts *= 2) {
    const owners: Owners = sampleOwners(regions.classes, (dataClass, source, is_counted) => ({
      ...blockSums(input.plan),
      class: dataClass,
      source,
      is_counted,
      seen: seenSums(),
      written: PAGE_GRAINS.map(writtenSums),
    }));
    let index = 0;
    while (index < parts && (await takePart(input, regions, owners, read(), { index, of: parts }))) index += 1;
    if (index === parts) return besidesNone([...owners.byKey.values()]);
  }
  throw new MrmTraceError(
    "data_quality",
    `samples fall on more blocks than ${formatBytes(input.memoryBytes)} hold, even in ${MOST_PARTS} parts`,
    "record again with a smaller --duration or a larger --period",
  );
}

/** Blocks of 4 KiB, 64 KiB and 2 MiB on which samples of stores fell, by class and source: how often they were written. */
import { PAGE_GRAINS, type WrittenBlocks } from "../input.ts";
import { type StoreOwners, storeOwners } from "./store-owners.ts";
import { type RegionArrays, regionArrays, type StoreRegion } from "./store-regions.ts";
import type { StoreSamples } from "./store-samples.ts";
import { type BlockSums, type WriteRuns, writeRuns } from "./write-runs.ts";

const WORD = 2 ** 32;
/** Blocks of one grain that are followed at a time: some 80 MiB. */
const MOST_BLOCKS = 1 << 19;
const SHIFTS = PAGE_GRAINS.map(Math.log2);
/** That of the largest grain: a block of any lies whole in one part. */
const PART_SHIFT = Math.max(...SHIFTS);

export interface StoresInput {
  readonly regions: readonly StoreRegion[];
  readonly originNs: bigint;
  /** First and last moment that counts, whole ns since the origin. */
  readonly begin_ns: number;
  readonly end_ns: number;
  /** When the engine emptied its cache, which ends the life of each of its blocks: whole ns since the origin, ascending. */
  readonly clears: Float64Array;
  /** Stores closer than this belong to one write epoch. */
  readonly gapNs: number;
}

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

interface Pass {
  readonly input: StoresInput;
  readonly regions: RegionArrays;
  readonly owners: StoreOwners;
}

/** Takes every sample of the part; false where it has more blocks than are followed. */
async function takePart(
  { input, regions, owners }: Pass,
  samples: AsyncIterable<StoreSamples>,
  part: Part,
  mostBlocks: number,
): Promise<boolean> {
  const { clears, begin_ns, end_ns, gapNs } = input;
  const runs = SHIFTS.map((_, grain) =>
    writeRuns(gapNs, mostBlocks, (owner) => owners.sums(owner)[grain] as BlockSums),
  );
  const originLow = Number(input.originNs & 0xffffffffn);
  const originHigh = Number(input.originNs >> 32n);
  let life = 0;
  for await (const { rows, address, timestamp_ns, region_id, pid: pids, source, sources } of samples) {
    for (let i = 0; i < rows; i++) {
      const low = address[2 * i] as number;
      const high = address[2 * i + 1] as number;
      const pid = pids[i] as number;
      const time =
        (timestamp_ns[2 * i] as number) - originLow + ((timestamp_ns[2 * i + 1] as number) - originHigh) * WORD;
      if (time < begin_ns || time > end_ns || partOf(low, high, pid, part.of) !== part.index) continue;
      while ((clears[life] ?? Number.POSITIVE_INFINITY) <= time) life += 1;
      const region = region_id[i] as number;
      const owner = owners.find(regions.kind[region] ?? 0, sources[source[i] as number] ?? "", pid);
      const death = regions.death_ns[region] ?? Number.POSITIVE_INFINITY;
      const own = regions.isCache[region] === 1 ? life : 0;
      for (let grain = 0; grain < SHIFTS.length; grain++) {
        const shift = SHIFTS[grain] as number;
        const blockLow = ((low >>> shift) | (high << (32 - shift))) >>> 0;
        const blockHigh = high >>> shift;
        const begin = (blockLow + blockHigh * WORD) * 2 ** shift;
        const isWhole = (regions.begin[region] ?? 0) <= begin && (regions.end[region] ?? 0) >= begin + 2 ** shift;
        const dies = isWhole ? death : Number.POSITIVE_INFINITY;
        if (!(runs[grain] as WriteRuns).add(owner, blockLow, blockHigh, time, dies, own)) return false;
      }
    }
  }
  for (const each of runs) each.finish();
  return true;
}

/**
 * Written blocks of every page grain by `sourceKey`. The life of a block ends where the engine empties its cache, and where
 * a region that held the whole block dies.
 * @param read gives all samples in order of time, each time that it is called: once, or once for each part of the blocks
 *   where there are more than are followed at a time
 * @throws whatever `read` throws
 */
export async function writtenBlocks(
  input: StoresInput,
  read: () => AsyncIterable<StoreSamples>,
  mostBlocks = MOST_BLOCKS,
): Promise<ReadonlyMap<string, readonly WrittenBlocks[]>> {
  const regions = regionArrays(input.regions);
  for (let parts = 1; ; parts *= 2) {
    const owners = storeOwners(regions.classes);
    let index = 0;
    while (index < parts && (await takePart({ input, regions, owners }, read(), { index, of: parts }, mostBlocks))) {
      index += 1;
    }
    if (index === parts) return owners.byKey;
  }
}

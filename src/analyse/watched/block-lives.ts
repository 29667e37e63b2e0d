/** How many blocks of a grain a class can have, each counted anew in each life of its bytes. */
import type { RegionSample } from "../input/input.ts";

/** Blocks that the regions touch, each once. */
function touched(regions: readonly RegionSample[], step: bigint): number {
  const spans = regions
    .filter((region) => region.size_bytes > 0)
    .map(({ pid, addr, size_bytes }) => ({ pid, first: addr / step, last: (addr + BigInt(size_bytes) - 1n) / step }))
    .sort((a, b) => a.pid - b.pid || (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  let count = 0n;
  let pid = -1;
  let upTo = -1n;
  for (const span of spans) {
    if (span.pid !== pid) upTo = -1n;
    pid = span.pid;
    if (span.last <= upTo) continue;
    count += span.last - (span.first > upTo ? span.first - 1n : upTo);
    upTo = span.last;
  }
  return Number(count);
}

/**
 * An upper bound: every block that a region touches, once more for each region that held it whole and died, all of it
 * once more for each time that the cache was emptied.
 */
export function mostBlocks(regions: readonly RegionSample[], grain: number, clears: number): number {
  const step = BigInt(grain);
  let died = 0;
  for (const { addr, size_bytes, death_censored } of regions) {
    if (death_censored) continue;
    const whole = (addr + BigInt(size_bytes)) / step - (addr + step - 1n) / step;
    died += Math.max(0, Number(whole));
  }
  return (touched(regions, step) + died) * (clears + 1);
}

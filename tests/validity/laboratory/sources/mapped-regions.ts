/** Processes that map and unmap memory, told by the rows of their calls: how long each byte is kept is known. */
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { mappingStays } from "../../../../src/label/capture/mapping-stays.ts";
import { regionMap } from "../../../../src/label/regions/region-map.ts";
import { quantileOf, type Truth } from "../../../../src/simulate/true-quantiles.ts";
import { normalDraw } from "../../../../src/statistics/normal.ts";
import { type Random, seededRandom } from "../../../../src/statistics/prng.ts";
import { mmap, munmap } from "../../../fixtures/mapping-rows.ts";
import { input } from "../../../unit/analyse/sample-input.ts";
import type { SourceRun, SourceWorld } from "./source-world.ts";

const MS = 1e6;
const RUN_NS = 10_000 * MS;
const PAGE_BYTES = 4096;

/** One stay of pages: a buffer may be freed in parts. */
interface Stay {
  readonly page: number;
  readonly pages: number;
  readonly birth_ns: number;
  readonly death_ns: number;
}

function run(stays: readonly Stay[], seed: number): SourceRun {
  const events = stays
    .flatMap(({ page, pages, birth_ns, death_ns }) => [
      { time: birth_ns, row: mmap(Math.round(birth_ns), page, pages) },
      { time: death_ns, row: munmap(Math.round(death_ns), page, pages) },
    ])
    .filter(({ time }) => time <= RUN_NS)
    .sort((a, b) => a.time - b.time);
  const regions = regionMap({
    stays: mappingStays(
      events.map(({ row }) => row),
      0n,
      new Set(),
    ),
    tensors: [],
    timeline: new Map(),
    enginePids: new Set(),
    partialEngines: new Set(),
    workedPids: new Set(),
    originNs: 0n,
    windowNs: RUN_NS,
  });
  const seen = stays.filter(({ birth_ns }) => birth_ns <= RUN_NS);
  const lives = seen.flatMap(({ pages, birth_ns, death_ns }) => Array<number>(pages).fill(death_ns - birth_ns));
  let most = 0;
  let now = 0;
  const changes = seen
    .flatMap(({ pages, birth_ns, death_ns }) => [[birth_ns, pages] as const, [death_ns, -pages] as const])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  for (const [time, pages] of changes) {
    if (time > RUN_NS) break;
    now += pages;
    most = Math.max(most, now);
  }
  const bytes = PAGE_BYTES * most;
  return {
    rows: computeMetrics({ ...input({ window_ns: RUN_NS, seed }), regions }),
    truth: new Map<string, Truth | null>([
      ["lifetime_p50_ns", quantileOf(lives, 0.5)],
      ["lifetime_p90_ns", quantileOf(lives, 0.9)],
      ["lifetime_p99_ns", quantileOf(lives, 0.99)],
      ["allocated_bytes", { lo: bytes, hi: bytes }],
    ]),
  };
}

/** Buffers that come at random, each at the lowest address that is free, as the kernel would place it. */
function buffers(everyNs: number, life: (random: Random) => number, inParts: boolean) {
  return (random: Random): Stay[] => {
    const stays: Stay[] = [];
    for (let now = 0; now < RUN_NS; now += everyNs * (0.5 + random())) {
      const pages = 1 + Math.floor(16 * random());
      const taken = stays.filter(({ death_ns }) => death_ns > now).sort((a, b) => a.page - b.page);
      let page = 16;
      for (const one of taken) {
        if (one.page - page >= pages) break;
        page = Math.max(page, one.page + one.pages);
      }
      const death_ns = now + life(random);
      const first = inParts && pages > 1 ? Math.ceil(pages * random() * 0.99) : pages;
      stays.push({ page, pages: first, birth_ns: now, death_ns });
      if (first < pages) {
        stays.push({ page: page + first, pages: pages - first, birth_ns: now, death_ns: death_ns + life(random) });
      }
    }
    return stays;
  };
}

const lognormal = (median: number, sigma: number) => (random: Random) =>
  median * MS * Math.exp(sigma * normalDraw(random));

const world = (name: string, make: (random: Random) => Stay[]): SourceWorld => ({
  name,
  sources: ["region_map"],
  run: (seed) => run(make(seededRandom(seed, 91)), seed),
});

export const MAPPED_REGIONS: readonly SourceWorld[] = [
  world("buffers kept for some 100 ms", buffers(20 * MS, lognormal(100, 0.5), false)),
  world("buffers kept for some 100 ms, freed in two parts", buffers(20 * MS, lognormal(100, 0.5), true)),
  world("buffers of which many outlive the run", buffers(20 * MS, lognormal(3000, 1), false)),
  world(
    "short buffers, and one in ten kept to the end",
    buffers(20 * MS, (random) => (random() < 0.1 ? 1e4 * MS : 50 * MS * (0.5 + random())), false),
  ),
];

import { describe, expect, test } from "bun:test";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { mappingStays } from "../../../../src/label/capture/mapping-stays.ts";
import { regionMap } from "../../../../src/label/regions/region-map.ts";
import type { MappingEvent } from "../../../../src/regions/mapping-row.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { mappingRow, mmap, mremap, munmap, page } from "../../../fixtures/mapping-rows.ts";
import { input, MS, region, watch } from "../sample-input.ts";

const WATCHES = 400;

const WRITTEN = [
  [0, "store"],
  [5 * MS, "load"],
] as const;
const READ = [[0, "load"]] as const;

/**
 * Words that are used so from a moment on that knows nothing of the arming, and go 25 ms after their arming. Where they only move, as realloc lets a large block grow, nobody sees how
 * often they are read at their other address.
 */
function inputOf(is_moved: boolean, uses: readonly (readonly [number, "load" | "store"])[]) {
  const random = seededRandom(7);
  const watches = Array.from({ length: WATCHES }, (_, i) => {
    const begin_ns = 2.4 * MS * i;
    const death_ns = begin_ns + 25 * MS;
    const first = begin_ns + 19 * random() * MS;
    const hits = uses.map(([time, op]) => [first + time, op] as const);
    const times = { begin_ns, end_ns: death_ns, region_death_ns: death_ns, dwell_limit_ns: 100 * MS };
    const place = { watch_id: i, addr: BigInt(4096 + 8 * i), region_type: "runtime" as const };
    return watch(hits, { ...place, ...times, ended_by: "unmap", ...(is_moved ? { is_moved } : {}) });
  });
  return input({ watches, regions: [region({ region_type: "runtime", addr: 4096n })] });
}

test("how long data is needed is not told by when it left the address that was watched, but by when it was freed", () => {
  for (const [metric, uses] of [
    ["retention_p50_ns", WRITTEN],
    ["still_needed_p50_ns", READ],
  ] as const) {
    const [freed, moved] = [false, true].map((is_moved) =>
      computeMetrics(inputOf(is_moved, uses)).find((row) => row.metric === metric && row.source === "watch"),
    );
    expect([metric, freed?.status]).toEqual([metric, "ok"]);
    expect(freed?.hi ?? 0).toBeLessThan(20 * MS);
    expect([metric, moved?.value, moved?.hi]).toEqual([metric, null, null]);
  }
});

describe("a life that is moved to another address", () => {
  const lifeOf = (...regions: Parameters<typeof region>[0][]) => {
    const rows = computeMetrics(input({ regions: regions.map((one) => region({ death_censored: false, ...one })) }));
    return rows.find(({ metric }) => metric === "lifetime_p50_ns");
  };

  test("does not end there, and counts once", () => {
    const steady = Array.from({ length: 3 }, () => ({ death_ns: 100 * MS }));
    // Grown four times by a move, and freed after 500 ms.
    const grown = Array.from({ length: 5 }, (_, i) => ({
      birth_ns: 100 * i * MS,
      death_ns: 100 * (i + 1) * MS,
      has_left: i < 4,
      has_come: i > 0,
      addr: BigInt(1e6 * (i + 1)),
    }));
    const row = lifeOf(...steady, ...grown);
    expect(row?.n).toBe(4);
    expect(row?.value).toBe(100 * MS);
    // Half of the bytes live for 500 ms: how long they lived before their last move is not asked.
    const even = lifeOf(...steady.slice(0, 1), ...grown);
    expect(even?.n).toBe(2);
    const late = lifeOf(...grown);
    expect([late?.value, late?.lo, late?.hi]).toEqual([null, 100 * MS, null]);
  });
});

describe("a life whose moves were seen", () => {
  const RUN_NS = 1000 * MS;
  const lifetimeOf = (rows: readonly MappingEvent[]) => {
    const regions = regionMap({
      stays: mappingStays(rows, 0n, new Set()),
      tensors: [],
      timeline: new Map(),
      enginePids: new Set(),
      partialEngines: new Set(),
      workedPids: new Set(),
      originNs: 0n,
      windowNs: RUN_NS,
    });
    const figures = computeMetrics({ ...input({ window_ns: RUN_NS }), regions });
    return figures.find(({ metric }) => metric === "lifetime_p50_ns");
  };
  /** Four pages that move twice and are freed, mapped at a moment. */
  const moving = (time: number, place: number): MappingEvent[] => [
    mmap(time, place, 4),
    mremap(time + 100 * MS, place, 4, place + 100, 4),
    mremap(time + 300 * MS, place + 100, 4, place + 200, 4),
    munmap(time + 400 * MS, place + 200, 4),
  ];

  test("lasts from its first address on to the end of its last", () => {
    expect(lifetimeOf(moving(10 * MS, 1000))).toMatchObject({ value: 400 * MS, lo: 400 * MS, hi: 400 * MS, n: 1 });
    // What is new behind it has lived since the move.
    const grown = [mmap(10 * MS, 10, 1), mremap(110 * MS, 10, 1, 500, 8), munmap(210 * MS, 500, 8)];
    expect(lifetimeOf(grown)).toMatchObject({ value: 100 * MS, hi: 100 * MS, n: 2 });
  });

  test("has at least that long where its first begin was not seen, or no end", () => {
    const there = { addr: page(1000), size_bytes: page(4), prot: 3, flags: 0x22 };
    const look = [
      mappingRow("snapshot_begin", 10 * MS),
      mappingRow("snapshot", 10 * MS, there),
      mappingRow("snapshot_end", 10 * MS),
    ];
    const [, ...moves] = moving(10 * MS, 1000);
    expect(lifetimeOf([...look, ...moves])).toMatchObject({ value: null, lo: 400 * MS, hi: null });
    expect(lifetimeOf(moving(10 * MS, 1000).slice(0, 3))).toMatchObject({ value: null, lo: 990 * MS, hi: null });
  });

  test("is that of its bytes among others in any order", () => {
    const random = seededRandom(3);
    const rows = Array.from({ length: 40 }, (_, i) => moving(Math.round(500 * random() * MS), 1000 * (40 - i)))
      .flat()
      .sort((a, b) => Number(a.timestamp_ns - b.timestamp_ns));
    expect(lifetimeOf(rows)).toMatchObject({ value: 400 * MS, lo: 400 * MS, hi: 400 * MS, n: 40 });
  });
});

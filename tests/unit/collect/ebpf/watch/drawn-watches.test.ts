import { describe, expect, test } from "bun:test";
import type { SeenAccesses } from "../../../../../src/collect/ebpf/watch/accesses.ts";
import type { DrawRegion } from "../../../../../src/collect/ebpf/watch/draw.ts";
import { drawnWatches } from "../../../../../src/collect/ebpf/watch/drawn-watches.ts";
import type { Room, WatchChoice } from "../../../../../src/collect/ebpf/watch/watch-choice.ts";
import type { RegionType, WatchMode } from "../../../../../src/schema/words.ts";
import { seededDraws } from "../../../../../src/statistics/prng.ts";

const regionAt = (addr: bigint, region_type: RegionType = "activation"): DrawRegion => ({
  pid: 1,
  addr,
  size_bytes: 800,
  stratum: region_type,
  region_type,
  tensor: null,
});
const room = (freeRegisters: number): Room => ({
  elapsedNs: 20e9,
  registers: 4,
  freeRegisters,
  longRegisters: 0,
  longestNs: Number.POSITIVE_INFINITY,
  isWatched: () => false,
  isReady: () => true,
});

/** One trap of which decoding could not tell whether it read or wrote. */
const UNDECIDED: SeenAccesses = {
  accesses: [],
  traps: 1,
  kernelTraps: 0,
  outside: 0,
  collapsed: 0,
  unpaired: 0,
  twins: 0,
  compared: 0,
  agreed: 0,
  undecided: 1,
};

/** Watches over memory that the test changes. */
function watches(seed: number, first: readonly DrawRegion[]) {
  const memory = { regions: first };
  const sources = { regions: () => memory.regions, tokenPeriodNs: () => null, rowsAhead: () => [] };
  return { memory, choice: drawnWatches(sources, seededDraws(seed)) };
}

/** Takes what needs one register until a turn waits for the two of a pair. */
function untilOneWaits(choice: WatchChoice): void {
  for (let i = 0; i < 1000; i++) if (choice.next(room(1)) === null) return;
  throw new Error("no turn waited");
}

test("a turn waits with its word and its design until registers of its kinds are ready, and asks for those of a cohort together", () => {
  const { memory, choice } = watches(1, [regionAt(0x1000n, "kv_cache")]);
  const { choice: other } = watches(1, [regionAt(0x1000n, "kv_cache")]);
  const seen = new Set<string>();
  for (let i = 0; i < 400; i++) {
    const asked: string[] = [];
    const notReady = { ...room(4), isReady: (modes: readonly WatchMode[]) => asked.push(modes.join()) < 0 };
    for (let looks = 0; looks < 3; looks++) expect(choice.next(notReady)).toBeNull();
    // Where memory came meanwhile it gets another word.
    if (i > 0) memory.regions = [...memory.regions];
    expect(choice.next(notReady)).toBeNull();
    expect(new Set(asked).size).toBe(1);
    const planned = choice.next(room(4)) ?? [];
    expect(planned.length === 2 ? "w,w" : planned[0]?.design.mode).toBe(asked[0]);
    if (i === 0) expect(planned).toEqual([...(other.next(room(4)) ?? [])]);
    for (const modes of asked) seen.add(modes);
  }
  expect(seen).toEqual(new Set(["w", "rw", "pair", "w,w"]));
});

describe("a turn that waits for the registers of a pair", () => {
  test.each([1, 2, 3, 4, 5])("waits on where memory comes, and then watches what is there, seed %p", (seed) => {
    const { memory, choice } = watches(seed, [regionAt(0x1000n)]);
    untilOneWaits(choice);
    for (let k = 2n; k < 20n; k++) {
      memory.regions = [regionAt(k * 0x1000n)];
      // One register is free: to take it now would be to begin at the change.
      expect(choice.next(room(1))).toBeNull();
    }
    const [planned] = choice.next(room(2)) ?? [];
    expect(planned?.design.mode).toBe("pair");
    expect(planned?.draw?.region.addr).toBe(0x13000n);
  });

  test("waits on where its bytes are freed before the list is made anew", () => {
    const { choice } = watches(1, [regionAt(0x1000n), regionAt(0x8000n)]);
    untilOneWaits(choice);
    choice.forget(() => true);
    expect(choice.next(room(1))).toBeNull();
    expect(choice.next(room(2))?.[0]?.design.mode).toBe("pair");
  });

  test("stays with its stratum as long as that has memory, and goes to another where it has none", () => {
    const both = [regionAt(0x1000n), regionAt(0x8000n, "runtime")];
    const { memory, choice } = watches(1, both);
    choice.learn("activation", { mode: "rw", seen: UNDECIDED });
    untilOneWaits(choice);
    for (let k = 0; k < 20; k++) {
      memory.regions = [...both];
      expect(choice.next(room(1))).toBeNull();
    }
    memory.regions = [regionAt(0x8000n, "runtime")];
    const planned = choice.next(room(2)) ?? [];
    expect(planned.map(({ draw }) => draw?.region.stratum)).toContain("runtime");
  });
});

describe("a turn in which no memory is there", () => {
  test("is spent on nothing, for as long as a short watch, and takes one register", () => {
    const { memory, choice } = watches(1, []);
    const [blank, ...others] = choice.next(room(1)) ?? [];
    expect(others).toEqual([]);
    expect(blank?.draw).toBeNull();
    expect(blank?.design).toMatchObject({ name: "short", mode: "rw", trapLimit: 8 });
    memory.regions = [regionAt(0x1000n)];
    expect((choice.next(room(2)) ?? [])[0]?.draw?.region.addr).toBe(0x1000n);
  });

  test("is spent on nothing where mappings have no page in memory, and given to another stratum where that has some", () => {
    const regions = [regionAt(0x1000n, "unknown"), regionAt(0x8000n, "runtime")];
    const there = new Set<string>();
    const resident = {
      has: ({ stratum }: DrawRegion) => there.has(stratum),
      bytesOf: (_: string, { bytes }: { readonly bytes: number }) => bytes,
    };
    const sources = { regions: () => regions, tokenPeriodNs: () => null, rowsAhead: () => [], resident };
    const choice = drawnWatches(sources, seededDraws(1));
    const turns = (count: number) =>
      Array.from({ length: count }, () => choice.next(room(4))).flatMap((turn) => turn ?? []);
    // Until each stratum was asked once nobody knows that nothing is there.
    turns(4);
    expect(turns(20).map(({ draw }) => draw)).toEqual(Array.from({ length: 20 }, () => null));
    there.add("runtime");
    turns(4);
    const drawn = turns(20).map(({ draw }) => draw?.region.stratum);
    expect(drawn.length).toBeGreaterThan(5);
    expect(new Set(drawn)).toEqual(new Set(["runtime"]));
  });

  test("waits where no register is free", () => {
    const { choice } = watches(1, []);
    expect(choice.next(room(0))).toBeNull();
  });
});

test("a tensor of a cache that does not lie in rows has all of its turns for its words, though another has rows ahead", () => {
  const cache = (name: string, addr: bigint): DrawRegion => ({
    ...regionAt(addr, "kv_cache"),
    stratum: `kv_cache/${name}`,
  });
  const [k, v] = [cache("k", 0x1000n), cache("v", 0x8000n)];
  const sources = { regions: () => memory, tokenPeriodNs: () => 10e6, rowsAhead: () => [{ ...k, size_bytes: 64 }] };
  const memory = [k, v];
  const choice = drawnWatches(sources, seededDraws(1));
  const turns = Array.from({ length: 800 }, () => choice.next(room(4)) ?? []);
  expect(turns.filter(([first]) => first === undefined)).toEqual([]);
  const drawn = turns.flatMap(([first]) => (first?.draw == null ? [] : [first]));
  const ofV = drawn.filter(({ draw }) => draw?.region.stratum === "kv_cache/v");
  expect(ofV.length).toBe(400);
  expect(new Set(ofV.map(({ draw }) => draw?.drawWeight))).toEqual(new Set([0.5]));
  expect(drawn.filter(({ design }) => design.name === "ahead").length).toBeWithin(100, 180);
});

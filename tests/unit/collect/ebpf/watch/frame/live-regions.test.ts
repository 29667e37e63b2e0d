import { expect, test } from "bun:test";
import { liveRegions } from "../../../../../../src/collect/ebpf/watch/frame/live-regions.ts";
import { createProcessMaps } from "../../../../../../src/regions/mapping-events.ts";
import { mmap, munmap, page } from "../../../../../fixtures/mapping-rows.ts";

const MS = 1_000_000n;

/** A list over a real map, by a clock of its own; listing takes `listingNs`. */
function listed(listingNs: bigint) {
  const clock = { ns: 10_000n * MS };
  const maps = createProcessMaps();
  const taking = {
    ...maps,
    pids() {
      clock.ns += listingNs;
      return maps.pids();
    },
  };
  const live = liveRegions(
    { mappings: { targetsFd: -1, maps: taking, follow() {} }, engine: null, heat: null },
    { firstResident: (_, addr) => addr, forget() {} },
    () => clock.ns,
  );
  return {
    take(row: ReturnType<typeof mmap>) {
      maps.apply(row);
      live.changed([row]);
    },
    after(ns: bigint) {
      clock.ns += ns;
      return live.regions();
    },
  };
}

const addresses = (regions: ReturnType<ReturnType<typeof listed>["after"]>) => regions.map(({ addr }) => addr);

test("memory that came a moment ago is drawn, and what went is not", () => {
  const { take, after } = listed(20_000n);
  take(mmap(1, 10, 4));
  expect(addresses(after(0n))).toEqual([page(10)]);
  take(mmap(2, 30, 4));
  expect(addresses(after(1n * MS))).toEqual([page(10), page(30)]);
  take(munmap(3, 10, 4));
  expect(addresses(after(1n * MS))).toEqual([page(30)]);
});

test("a list that takes long to make is made ten times as seldom, but never less often than every 100 ms", () => {
  for (const [listing, rest] of [
    [1n * MS, 10n * MS],
    [20n * MS, 100n * MS],
  ] as const) {
    const { take, after } = listed(listing);
    take(mmap(1, 10, 4));
    expect(addresses(after(0n))).toEqual([page(10)]);
    take(mmap(2, 30, 4));
    expect(addresses(after(rest - 1n))).toEqual([page(10)]);
    expect(addresses(after(1n))).toEqual([page(10), page(30)]);
  }
});

test("a list of which nothing changed is the same one for a second", () => {
  const { take, after } = listed(0n);
  take(mmap(1, 10, 4));
  const first = after(0n);
  expect(after(999n * MS)).toBe(first);
});

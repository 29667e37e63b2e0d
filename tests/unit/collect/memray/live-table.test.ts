import { describe, expect, test } from "bun:test";
import { type Born, emptyBorn, openLiveTable } from "../../../../src/collect/memray/live-table.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";

const born = (address: number, size: number, order: number): Born => ({
  address,
  size,
  order,
  allocator: 14,
  thread: 3,
  stack: 0xfffffffe,
  native: 7,
  interval: 9,
});

describe("the table of live allocations", () => {
  test("gives back what was put in, also large addresses, sizes and orders", () => {
    const table = openLiveTable();
    const largest = born(2 ** 56 - 8, 2 ** 53 - 1, 2 ** 55 - 2 ** 32);
    expect(table.add(largest)).toBe(true);
    const got = emptyBorn();
    expect(table.remove(2 ** 56 - 16, got)).toBe(false);
    expect(table.remove(2 ** 56 - 8, got)).toBe(true);
    expect(got).toEqual(largest);
    expect(table.count).toBe(0);
  });

  test("agrees with a map over many additions and removals of addresses that lie close together", () => {
    const table = openLiveTable();
    const model = new Map<number, Born>();
    const random = seededRandom(5);
    const got = emptyBorn();
    for (let order = 0; order < 200_000; order++) {
      const address = 0x7f00_0000_0000 + Math.floor(random() * 30_000) * 16;
      const known = model.get(address);
      expect(table.remove(address, got)).toBe(known !== undefined);
      if (known !== undefined) expect(got).toEqual(known);
      model.delete(address);
      if (random() < 0.6) {
        const next = born(address, Math.floor(random() * 2 ** 40), order);
        table.add(next);
        model.set(address, next);
      }
    }
    expect(table.count).toBe(model.size);
    const left = new Map<number, Born>();
    while (table.next(got)) left.set(got.address, { ...got });
    expect(left).toEqual(model);
  });

  test("refuses more than it may hold, and takes again after a removal", () => {
    const table = openLiveTable(100);
    for (let i = 0; i < 100; i++) expect(table.add(born(i * 16, 1, i))).toBe(true);
    expect(table.add(born(4096, 1, 1))).toBe(false);
    expect(table.remove(16, emptyBorn())).toBe(true);
    expect(table.add(born(4096, 1, 1))).toBe(true);
  });
});

import { describe, expect, test } from "bun:test";
import { givenBackRanges, goneRanges } from "../../../../../src/collect/ebpf/lifecycle/gone-ranges.ts";
import { emptyMappingEvent, type MappingEvent } from "../../../../../src/regions/mapping-row.ts";
import { wordsOf } from "../../../../../src/schema/row.ts";

const P = 4096n;

/** Ranges that a call takes away, in pages. */
function gone(kind: MappingEvent["kind"], change: Partial<MappingEvent>): [addr: bigint, pages: bigint][] {
  const row = { ...emptyMappingEvent(kind, 1n, 10), result: 0n, ...change };
  return goneRanges(row).map(({ addr, size_bytes }) => [addr / P, size_bytes / P]);
}

describe("bytes that a call took away", () => {
  test("are the range of munmap, to the end of its last page", () => {
    expect(gone("munmap", { addr: 16n * P, size_bytes: 2n * P + 1n })).toEqual([[16n, 3n]]);
  });

  test("are those between the new break and the old one", () => {
    expect(gone("brk", { old_addr: 40n * P, result: 30n * P })).toEqual([[30n, 10n]]);
    expect(gone("brk", { old_addr: 40n * P - 8n, result: 30n * P + 8n })).toEqual([[31n, 9n]]);
    expect(gone("brk", { old_addr: 30n * P, result: 40n * P })).toEqual([]);
    expect(gone("brk", { old_addr: null, result: 40n * P })).toEqual([]);
  });

  test("are what a mapping at a fixed place covers, and nothing for one that the kernel placed", () => {
    const range = { addr: 16n * P, size_bytes: 2n * P, result: 16n * P };
    expect(gone("mmap", { ...range, flags: 0x32 })).toEqual([[16n, 2n]]);
    expect(gone("mmap", { ...range, flags: 0x22 })).toEqual([]);
  });

  test("are the end of a mapping that shrinks, and none of one that grows where it is", () => {
    const at = { addr: 16n * P, old_addr: 16n * P, result: 16n * P };
    expect(gone("mremap", { ...at, old_size_bytes: 8n * P, size_bytes: 3n * P })).toEqual([[19n, 5n]]);
    expect(gone("mremap", { ...at, old_size_bytes: 3n * P, size_bytes: 8n * P })).toEqual([]);
  });

  test("are the old place of a mapping that moves, and what it falls upon when told where to", () => {
    const moved = { addr: 64n * P, old_addr: 16n * P, result: 64n * P, old_size_bytes: 2n * P, size_bytes: 4n * P };
    expect(gone("mremap", { ...moved, flags: 1 })).toEqual([[16n, 2n]]);
    expect(gone("mremap", { ...moved, flags: 3 })).toEqual([
      [16n, 2n],
      [64n, 4n],
    ]);
  });

  test("are none where the call failed, and none of any other kind", () => {
    for (const kind of ["munmap", "mremap", "mmap"] as const) {
      const range = { addr: P, size_bytes: P, old_addr: P, old_size_bytes: P, flags: 0x10 };
      expect(gone(kind, { ...range, result: -22n })).toEqual([]);
    }
    const taking = new Set(["munmap", "mremap", "mmap", "brk"]);
    for (const kind of wordsOf("mapping", "kind"))
      if (!taking.has(kind)) expect(gone(kind, { size_bytes: P })).toEqual([]);
  });
});

describe("pages that a program gives back", () => {
  const givenBack = (flags: number, result = 0n) => {
    const row = { ...emptyMappingEvent("madvise", 1n, 10), addr: 16n * P, size_bytes: 2n * P - 1n, flags, result };
    return givenBackRanges(row).map(({ addr, size_bytes }) => [addr / P, size_bytes / P]);
  };

  test("are those that go at once, where the call did not fail", () => {
    for (const advice of [4, 9, 24, 102]) expect(givenBack(advice)).toEqual([[16n, 2n]]);
    for (const advice of [3, 8, 14]) expect(givenBack(advice)).toEqual([]);
    expect(givenBack(4, -22n)).toEqual([]);
  });

  test("are all that are there where the range has a hole, which the kernel passes over and tells at the end", () => {
    expect(givenBack(4, -12n)).toEqual([[16n, 2n]]);
    expect(givenBack(8, -12n)).toEqual([]);
  });

  test("stay mapped", () => {
    expect(gone("madvise", { addr: 16n * P, size_bytes: 2n * P, flags: 4 })).toEqual([]);
    expect(givenBackRanges({ ...emptyMappingEvent("munmap", 1n, 10), addr: P, size_bytes: P, result: 0n })).toEqual([]);
  });
});

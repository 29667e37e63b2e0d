import { describe, expect, test } from "bun:test";
import {
  blockBytes,
  createEmptyParts,
  emptyPartsOf,
} from "../../../../../../src/collect/ebpf/watch/frame/empty-parts.ts";
import type { MappingRow } from "../../../../../../src/regions/mapping-row.ts";

const MIB = 1n << 20n;
const GIB = 1n << 30n;
const BASE = 0x7f00_0000_0000n;

function row(addr: bigint, size_bytes: bigint, since_ns = 0n): MappingRow {
  return {
    pid: 7,
    exec_epoch: 0,
    mapping_id: 1,
    addr,
    size_bytes,
    prot: 3,
    prot_ever: 3,
    flags: 0x22,
    dev: null,
    inode: null,
    file_offset_bytes: null,
    path: null,
    mapping_kind: "anon",
    birth_ns: since_ns,
    birth_censored: false,
    since_ns,
    death_ns: null,
    ended_by: null,
  };
}

/** Memory in which these pages are, in order; counts what it is asked, and refuses to be asked for much at once. */
function memory(pages: readonly bigint[]) {
  const asked = { calls: 0, longest: 0n };
  return {
    asked,
    firstResident(_pid: number, addr: bigint, end: bigint): bigint | null {
      asked.calls += 1;
      if (end - addr > asked.longest) asked.longest = end - addr;
      return pages.find((page) => page >= addr && page < end) ?? end;
    },
  };
}

describe("the empty parts of a mapping", () => {
  test("are all of it but the blocks in which something is", () => {
    const pages = [BASE + 5n * MIB, BASE + 5n * MIB + 4096n, BASE + 300n * MIB];
    expect(emptyPartsOf(row(BASE, GIB), 2 << 20, memory(pages))).toEqual([
      { from: BASE, to: BASE + 4n * MIB },
      { from: BASE + 6n * MIB, to: BASE + 300n * MIB },
      { from: BASE + 302n * MIB, to: BASE + GIB },
    ]);
  });
  test("begin and end with the mapping where it does not with a block", () => {
    const addr = BASE + MIB;
    expect(emptyPartsOf(row(addr, 8n * MIB), 2 << 20, memory([addr]))).toEqual([
      { from: BASE + 2n * MIB, to: addr + 8n * MIB },
    ]);
    expect(emptyPartsOf(row(addr, 8n * MIB), 2 << 20, memory([addr + 8n * MIB - 4096n]))).toEqual([
      { from: addr, to: BASE + 8n * MIB },
    ]);
  });
  test("are none where the kernel cannot say, or the process is gone: the draw asks page by page then", () => {
    expect(emptyPartsOf(row(BASE, GIB), 2 << 20, { firstResident: () => null })).toEqual([]);
  });
  test("are asked for in steps of 128 MiB at most, and once for each block that has something", () => {
    const full = memory(Array.from({ length: 512 }, (_, i) => BASE + BigInt(i) * 2n * MIB));
    expect(emptyPartsOf(row(BASE, GIB), 2 << 20, full)).toEqual([]);
    expect(full.asked).toEqual({ calls: 512, longest: 128n * MIB });
    const bare = memory([]);
    expect(emptyPartsOf(row(BASE, GIB), 2 << 20, bare)).toEqual([{ from: BASE, to: BASE + GIB }]);
    expect(bare.asked.calls).toBe(8);
  });
  test("are of blocks of 2 MiB, larger where more than 2 GiB is mapped, so that there are at most 1,024", () => {
    expect(blockBytes(0)).toBe(2 << 20);
    expect(blockBytes(2 * 1024 ** 3)).toBe(2 << 20);
    expect(blockBytes(30 * 1024 ** 3)).toBe(32 << 20);
  });
});

describe("what is left of a mapping", () => {
  test("is all of it when it came after the look, and what the look left where it was there before", () => {
    let now = 100n;
    const empty = createEmptyParts(memory([BASE + 5n * MIB]), () => now);
    const before = row(BASE, GIB);
    empty.lookAgain(new Map([[7, [before]]]));
    const filled = { from: BASE + 4n * MIB, to: BASE + 6n * MIB };
    expect(empty.filled(before)).toEqual([filled]);
    expect(empty.filled({ ...before, since_ns: 200n })).toEqual([{ from: BASE, to: BASE + GIB }]);
    expect(empty.filled({ ...before, pid: 8 })).toEqual([{ from: BASE, to: BASE + GIB }]);
    now += 1n;
    empty.lookAgain(new Map());
    expect(empty.filled(before)).toEqual([filled]);
    now += 1_000_000_000n;
    empty.lookAgain(new Map());
    expect(empty.filled(before)).toEqual([{ from: BASE, to: BASE + GIB }]);
  });
  test("is all of it where more than a 64th may have something: what comes there is drawn at once", () => {
    const pages = Array.from({ length: 9 }, (_, i) => BASE + BigInt(i) * 2n * MIB);
    const whole = { from: BASE, to: BASE + GIB };
    for (const [some, left] of [
      [pages.slice(0, 8), [{ from: BASE, to: BASE + 16n * MIB }]],
      [pages, [whole]],
    ] as const) {
      const empty = createEmptyParts(memory(some), () => 100n);
      empty.lookAgain(new Map([[7, [row(BASE, GIB)]]]));
      expect(empty.filled(row(BASE, GIB))).toEqual([...left]);
    }
  });
  test("is looked for again after 1,000 times what the quicker of two looks took, and a second after the first", () => {
    let now = 100n;
    let calls = 0;
    const empty = createEmptyParts(
      {
        firstResident: (_pid, _addr, end) => {
          calls += 1;
          now += 1_000_000n;
          return end;
        },
      },
      () => now,
    );
    const rows = new Map([[7, [row(BASE, GIB)]]]);
    empty.lookAgain(rows);
    expect(calls).toBe(8);
    now += 1_000_000_000n;
    empty.lookAgain(rows);
    expect(calls).toBe(16);
    now += 7_900_000_000n;
    empty.lookAgain(rows);
    expect(calls).toBe(16);
    now += 200_000_000n;
    empty.lookAgain(rows);
    expect(calls).toBe(24);
  });
});

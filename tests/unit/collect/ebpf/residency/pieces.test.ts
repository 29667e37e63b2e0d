import { expect, test } from "bun:test";
import fc from "fast-check";
import { MOST_MAPPING_BYTES, PIECE_BYTES, piecesOf } from "../../../../../src/collect/ebpf/residency/pieces.ts";

const MIB = 1n << 20n;
const GIB = 1n << 30n;

test("small mappings near each other are one piece, with the holes between them", () => {
  const rows = [
    { addr: GIB, size_bytes: MIB },
    { addr: GIB + 2n * MIB, size_bytes: MIB },
    { addr: GIB + 62n * MIB, size_bytes: 4n * MIB },
    { addr: 9n * GIB, size_bytes: MIB },
  ];
  expect(piecesOf(rows)).toEqual([
    { from: GIB, to: GIB + PIECE_BYTES },
    { from: GIB + PIECE_BYTES, to: GIB + 66n * MIB },
    { from: 9n * GIB, to: 9n * GIB + MIB },
  ]);
});

test("a mapping above 1 TiB is left out, as is the page of the kernel that every program has, and those beside are not", () => {
  const rows = [
    { addr: GIB, size_bytes: MIB },
    { addr: 2n * GIB, size_bytes: MOST_MAPPING_BYTES + 4096n },
    { addr: 1n << 45n, size_bytes: MIB },
    { addr: 0xffff_ffff_ff60_0000n, size_bytes: 4096n },
  ];
  expect(piecesOf(rows)).toEqual([
    { from: GIB, to: GIB + MIB },
    { from: 1n << 45n, to: (1n << 45n) + MIB },
  ]);
});

test("every byte of every mapping is in one piece, of at most 64 MiB, whatever is mapped", () => {
  const pages = fc.array(fc.tuple(fc.integer({ min: 0, max: 40_000 }), fc.integer({ min: 1, max: 60_000 })), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(pages, (steps) => {
      let next = 16n;
      const rows = steps.map(([hole, length]) => {
        const addr = next + BigInt(hole);
        next = addr + BigInt(length);
        return { addr: addr * 4096n, size_bytes: BigInt(length) * 4096n };
      });
      const pieces = piecesOf(rows);
      for (const [i, { from, to: end }] of pieces.entries()) {
        expect(end > from && end - from <= PIECE_BYTES).toBe(true);
        expect(from >= (pieces[i - 1]?.to ?? 0n)).toBe(true);
      }
      for (const { addr, size_bytes } of rows) {
        const inPieces = pieces.reduce((sum, { from, to: end }) => {
          const first = Math.max(Number(from), Number(addr));
          return sum + Math.max(0, Math.min(Number(end), Number(addr + size_bytes)) - first);
        }, 0);
        expect(inPieces).toBe(Number(size_bytes));
      }
    }),
    { seed: 7, numRuns: 100 },
  );
});

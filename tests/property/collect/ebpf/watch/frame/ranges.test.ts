import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { outside, unionOf } from "../../../../../../src/collect/ebpf/watch/frame/ranges.ts";

const SPAN = 64;
/** Addresses of the upper half of the address space too: they are compared as bigints, never as numbers. */
const base = fc.constantFrom(0n, 0x7fff_0000_0000n, (1n << 64n) - BigInt(SPAN));
const edge = fc.nat({ max: SPAN });
const pair = fc.tuple(edge, edge).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
const pairs = fc.array(pair, { maxLength: 12 });

const rangesOf = (at: bigint, list: readonly (readonly [number, number])[]) =>
  list.map(([from, to]) => ({ from: at + BigInt(from), to: at + BigInt(to) }));

/** Which of the SPAN bytes from `at` the ranges cover, by looking at each byte. */
function covered(at: bigint, ranges: readonly { from: bigint; to: bigint }[]): boolean[] {
  return Array.from({ length: SPAN }, (_, i) =>
    ranges.some(({ from, to }) => from <= at + BigInt(i) && at + BigInt(i) < to),
  );
}

describe("ranges of bytes", () => {
  test("have a union that covers the same bytes, is sorted, and neither overlaps nor touches nor is empty", () => {
    fc.assert(
      fc.property(base, pairs, (at, list) => {
        const ranges = rangesOf(at, list);
        const union = unionOf(ranges);
        expect(covered(at, union)).toEqual(covered(at, ranges));
        for (const [i, range] of union.entries()) {
          expect(range.from < range.to).toBe(true);
          expect((union[i - 1]?.to ?? -1n) < range.from).toBe(true);
        }
      }),
    );
  });

  test("less their holes are the range, byte by byte", () => {
    fc.assert(
      fc.property(base, pair, pairs, (at, [from, to], list) => {
        const holes = unionOf(rangesOf(at, list));
        const range = { from: at + BigInt(from), to: at + BigInt(to) };
        const rest = outside(range, holes);
        const inHole = covered(at, holes);
        expect(covered(at, rest)).toEqual(covered(at, [range]).map((inside, i) => inside && !inHole[i]));
        for (const [i, part] of rest.entries()) {
          expect(part.from < part.to).toBe(true);
          expect((rest[i - 1]?.to ?? -1n) < part.from).toBe(true);
        }
      }),
    );
  });

  test("are not changed by taking their union", () => {
    const ranges = [
      { from: 5n, to: 9n },
      { from: 0n, to: 6n },
    ];
    expect(unionOf(ranges)).toEqual([{ from: 0n, to: 9n }]);
    expect(ranges).toEqual([
      { from: 5n, to: 9n },
      { from: 0n, to: 6n },
    ]);
  });
});

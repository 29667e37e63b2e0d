import { expect, test } from "bun:test";
import fc from "fast-check";
import { type Extent, uncovered } from "../../../../src/label/regions/uncovered.ts";

const MOST = 14;
const extents = fc
  .tuple(fc.nat(MOST), fc.nat(MOST), fc.nat(MOST), fc.nat(MOST))
  .map(([begin, bytes, birth_ns, ns]): Extent => ({ begin, end: begin + bytes, birth_ns, death_ns: birth_ns + ns }));

test("pieces are in order of address, and neighbours of one time are one piece", () => {
  fc.assert(
    fc.property(extents, fc.array(extents, { maxLength: 10 }), (whole, covers) => {
      const pieces = uncovered(whole, covers);
      for (const [i, { begin, birth_ns, death_ns }] of pieces.entries()) {
        const before = pieces[i - 1];
        expect(before === undefined || before.begin <= begin).toBe(true);
        const isSame = (other: Extent): boolean => other.birth_ns === birth_ns && other.death_ns === death_ns;
        expect(pieces.some((other) => isSame(other) && other.end === begin)).toBe(false);
      }
    }),
    { seed: 20 },
  );
});

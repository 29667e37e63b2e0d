import { expect, test } from "bun:test";
import fc from "fast-check";
import { type IslandSurvey, relocationOf, surveyIslands } from "../../../src/scrub/islands.ts";

const GRANULE = 2n ** 21n;

function surveyOf(ranges: readonly (readonly [begin: bigint, bytes: bigint])[]): IslandSurvey {
  const survey = surveyIslands();
  for (const [begin, bytes] of ranges) survey.add(Number(begin / GRANULE), Number((begin + bytes - 1n) / GRANULE));
  return survey;
}

function moved(move: (words: Uint32Array, row: number) => void, address: bigint): bigint {
  const words = new Uint32Array(new BigUint64Array([0n, address]).buffer);
  move(words, 1);
  return new BigUint64Array(words.buffer)[1] ?? 0n;
}

const range = fc.tuple(
  fc.bigInt({ min: 2n ** 22n, max: 2n ** 47n - 2n ** 32n }),
  fc.bigInt({ min: 1n, max: 2n ** 30n }),
);

test("what lies in one range stays as far apart, in the same place of its page, and in the same order", () => {
  fc.assert(
    fc.property(fc.array(range, { minLength: 1, maxLength: 40 }), (ranges) => {
      const { move } = relocationOf(surveyOf(ranges).islands());
      const places = ranges.map(([begin, bytes]) => {
        const [first, last] = [moved(move, begin), moved(move, begin + bytes - 1n)];
        expect(last - first).toBe(bytes - 1n);
        expect(first % GRANULE).toBe(begin % GRANULE);
        return { begin, first };
      });
      const byPlace = places.toSorted((a, b) => (a.begin < b.begin ? -1 : 1)).map(({ first }) => first);
      expect(byPlace).toEqual(byPlace.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
    }),
    { seed: 1, numRuns: 100 },
  );
});

test("ranges that are apart stay apart, and how far they were apart is not told", () => {
  const [code, heap] = [0x5555_0000_0000n, 0x7f00_0000_0000n];
  const { move } = relocationOf(
    surveyOf([
      [code, 4096n],
      [heap, 4096n],
    ]).islands(),
  );
  const gap = moved(move, heap) - moved(move, code);
  expect(gap).toBeGreaterThan(GRANULE);
  expect(gap).toBeLessThan(2n ** 30n);
  expect(moved(move, code)).toBeLessThan(2n ** 36n);
});

test("null stays null, and what is the kernel's stays there", () => {
  const kernel = 0xffff_ffff_8100_0000n;
  const { move } = relocationOf(
    surveyOf([
      [0n, 1n],
      [0x7f00_0000_0000n, 4096n],
      [kernel, 1n],
    ]).islands(),
  );
  expect(moved(move, 0n)).toBe(0n);
  expect(moved(move, 8n)).toBe(8n);
  expect(moved(move, kernel)).toBeGreaterThan(2n ** 63n);
  expect(moved(move, kernel)).not.toBe(kernel);
});

test("a program that lies right behind the first granule is moved all the same", () => {
  const { move } = relocationOf(
    surveyOf([
      [0n, 1n],
      [GRANULE, 16n * GRANULE],
    ]).islands(),
  );
  expect(moved(move, 8n)).toBe(8n);
  expect(moved(move, GRANULE)).toBeGreaterThan(2n ** 31n);
  expect(moved(move, 16n * GRANULE) - moved(move, GRANULE)).toBe(15n * GRANULE);
});

test("very many ranges become fewer that hold them all, in memory that is bounded", () => {
  const survey = surveyIslands();
  const granules = Array.from({ length: 100_000 }, (_, i) => 1000 + 3 * i);
  for (const granule of granules) survey.add(granule, granule);
  const islands = survey.islands();
  expect(islands.first.length).toBeLessThanOrEqual(1 << 16);
  const { move } = relocationOf(islands);
  for (const granule of granules.filter((_, i) => i % 997 === 0)) {
    expect(moved(move, BigInt(granule) * GRANULE + 5n) % GRANULE).toBe(5n);
  }
});

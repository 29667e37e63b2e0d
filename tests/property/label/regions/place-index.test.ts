import { expect, test } from "bun:test";
import fc from "fast-check";
import { placeIndex } from "../../../../src/label/regions/place-index.ts";
import { type Extent, uncovered } from "../../../../src/label/regions/uncovered.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { placesOf } from "../../../fixtures/regions.ts";

const extent = fc
  .tuple(fc.nat(30), fc.integer({ min: 1, max: 12 }), fc.nat(30), fc.integer({ min: 1, max: 12 }))
  .map(([begin, size, birth_ns, life]) => ({ begin, end: begin + size, birth_ns, death_ns: birth_ns + life }));
const holds = (of: Extent, address: number, time: number) =>
  address >= of.begin && address < of.end && time >= of.birth_ns && time < of.death_ns;

test("the pieces of a mapping hold exactly the moments of its bytes that no cover holds, each once", () => {
  fc.assert(
    fc.property(extent, fc.array(extent, { maxLength: 8 }), (whole, covers) => {
      const pieces = uncovered(whole, covers);
      for (let address = 0; address < 45; address++) {
        for (let time = 0; time < 45; time++) {
          const free = holds(whole, address, time) && !covers.some((cover) => holds(cover, address, time));
          expect(pieces.filter((piece) => holds(piece, address, time)).length).toBe(free ? 1 : 0);
        }
      }
    }),
    { numRuns: 60 },
  );
});

test("a lookup finds the latest born place that holds the address at the time, as a plain search does", () => {
  fc.assert(
    fc.property(
      fc.array(extent, { maxLength: 12 }),
      fc.array(fc.nat(1), { minLength: 12, maxLength: 12 }),
      (list, pids) => {
        const places = list.map((of, index) => ({ ...of, pid: pids[index] ?? 0 }));
        const index = placeIndex(placesOf(places));
        for (let address = 0; address < 45; address += 2) {
          for (let time = 0; time < 45; time += 3) {
            let expected = -1;
            for (const [i, place] of places.entries()) {
              if (place.pid !== 0 || !holds(place, address, time)) continue;
              if (expected < 0 || place.birth_ns >= (places[expected]?.birth_ns ?? 0)) expected = i;
            }
            expect(index.find(0, address, time)).toBe(expected);
          }
        }
      },
    ),
    { numRuns: 100 },
  );
});

test("a lookup among more places than one stretch of time has finds what a plain search does", () => {
  const random = seededRandom(5);
  const below = (n: number): number => Math.floor(random() * n);
  const places = Array.from({ length: 6000 }, (_, i) => {
    const begin = below(200);
    // Some live long, so that stretches carry them on.
    const life = i % 50 === 0 ? 4000 : 1 + below(20);
    return { pid: below(2), begin, end: begin + 1 + below(30), birth_ns: i, death_ns: i + life };
  });
  const index = placeIndex(placesOf(places));
  for (let i = 0; i < 2000; i++) {
    const [pid, address, time] = [below(3), below(240), below(6100)];
    expect(index.find(pid, address, time)).toBe(
      places.findLastIndex((place) => place.pid === pid && holds(place, address, time)),
    );
  }
});

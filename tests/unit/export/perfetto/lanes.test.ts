import { describe, expect, test } from "bun:test";
import { lanes } from "../../../../src/export/perfetto/lanes.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";

/** The slices of each track that was made, as [begin, end]. */
function laid(slices: readonly (readonly [number, number])[]): (readonly [number, number])[][] {
  const tracks: (readonly [number, number])[][] = [];
  const all = lanes(() => {
    const track: (readonly [number, number])[] = [];
    tracks.push(track);
    return { slice: (_, begin, end) => void track.push([Number(begin), Number(end)]) };
  });
  for (const [begin, end] of slices) all.slice("", BigInt(begin), BigInt(end));
  return tracks;
}

describe("lanes", () => {
  test("put what overlaps on tracks of its own, and what follows on a track that is free", () => {
    expect(
      laid([
        [0, 10],
        [2, 4],
        [4, 6],
        [5, 7],
        [10, 12],
      ]),
    ).toEqual([
      [[0, 10]],
      [
        [2, 4],
        [4, 6],
        [10, 12],
      ],
      [[5, 7]],
    ]);
  });

  test("need as many tracks as things lived at one moment, and none of them overlaps", () => {
    const random = seededRandom(1);
    const begins = Array.from({ length: 500 }, () => Math.floor(random() * 1000)).sort((a, b) => a - b);
    const slices = begins.map((begin) => [begin, begin + 1 + Math.floor(random() * 60)] as const);
    const tracks = laid(slices);
    const most = Math.max(...begins.map((time) => slices.filter(([a, b]) => a <= time && time < b).length));
    expect(tracks.length).toBe(most);
    expect(tracks.flat().length).toBe(500);
    for (const track of tracks) {
      for (const [i, [begin]] of track.entries())
        if (i > 0) expect(begin).toBeGreaterThanOrEqual(track[i - 1]?.[1] ?? 0);
    }
  });
});

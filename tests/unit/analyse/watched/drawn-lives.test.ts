import { expect, test } from "bun:test";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import { meanInLives } from "../../../../src/analyse/watched/drawn-lives.ts";
import { input, MS, region, watch } from "../sample-input.ts";

/** Of memory that is there from one moment to another, watched for a millisecond at some moments. */
const draws = (moments: readonly number[], [born, freed]: readonly [number, number]) =>
  moments.map((begin) =>
    watch([], {
      begin_ns: begin * MS,
      end_ns: (begin + 1) * MS,
      dwell_limit_ns: MS,
      region_birth_ns: born * MS,
      region_death_ns: freed * MS,
    }),
  );

test("what goes on while memory is there is the mean over bytes and time, as each draw stands for the time of its memory", () => {
  // Something happens each ms until 500 ms, and never after it.
  const between = (from: number, end: number): number => (Math.min(end, 500 * MS) - Math.min(from, 500 * MS)) / MS;
  const watches = [
    ...draws([310, 320, 330, 340], [300, 400]),
    ...draws([450, 550], [400, 600]),
    ...draws([700, 800], [600, 900]),
  ].map((one, i) => ({ ...one, watch_id: i + 1 }));
  const [group] = groupsOf(input({ watches, regions: [region()] }));
  if (group === undefined) throw new Error("no group");
  const set = group.uniform;
  const members = [...set.exposures.keys()];
  const weights = set.weights.bytes;
  const held = [1, 1, 1, 1, 0.5, 0.5, 0, 0];
  const mean = held.reduce((sum, share, i) => sum + share * (weights[i] ?? 0), 0) / weights.reduce((a, b) => a + b, 0);
  expect(meanInLives(set, members, between)).toBeCloseTo(mean / MS, 12);
  expect(meanInLives(set, [], between)).toBeNull();
});

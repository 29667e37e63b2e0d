import { expect, test } from "bun:test";
import { drawnWatches, watchSieve } from "../../../../src/label/capture/drawn-watches.ts";
import { BYTES_OF, labelRoom } from "../../../../src/label/label-room.ts";
import type { RowOf } from "../../../../src/schema/row.ts";

const COUNT = 30_000;
const SHARE = 1 / 3;
const watch = (i: number, design = "short") => ({ watch_id: i + 1, pid: 7, addr: BigInt(4096 * i), design });
const all = Array.from({ length: COUNT }, (_, i) => watch(i));
const taken = (seed: number, share = SHARE) => all.filter(watchSieve(seed, share)).map(({ watch_id }) => watch_id);

test("as many watches as there is memory for are drawn, the same ones each time, others of another seed", () => {
  const ids = taken(5);
  expect(ids.length).toBe(COUNT * SHARE);
  expect(taken(5)).toEqual(ids);
  const others = taken(6);
  expect(others.length).toBe(ids.length);
  const both = new Set(others).intersection(new Set(ids)).size;
  expect(both / ids.length).toBeWithin(SHARE - 0.02, SHARE + 0.02);
});

test("no part of the run has more of them than another", () => {
  const ids = taken(5);
  for (let from = 0; from < COUNT; from += 240) {
    expect(ids.filter((id) => id > from && id <= from + 240).length).toBe(80);
  }
});

test("any place among turns that follow each other is as likely as another, at any share", () => {
  for (const share of [0.05, 0.5, 0.9]) {
    const places = new Float64Array(10);
    const ids = Array.from({ length: 10 }, (_, seed) => taken(seed, share)).flat();
    for (const id of ids) places[id % 10] = (places[id % 10] ?? 0) + 1;
    expect(ids.length / 10 / COUNT).toBeWithin(0.93 * share, share + 0.001);
    // Five standard errors of a place.
    const error = 5 / Math.sqrt(ids.length / 10);
    for (const count of places) expect(count / (ids.length / 10)).toBeWithin(1 - error, 1 + error);
  }
});

test("two words of one line that were watched together are one turn", () => {
  const pairs = all.flatMap((one, i) => {
    const cohort = { ...one, watch_id: 2 * i + 1, design: "cohort" };
    return i % 16 === 0 ? [cohort, { ...cohort, watch_id: 2 * i + 2, addr: cohort.addr + 8n }] : [one];
  });
  const sieve = watchSieve(5, SHARE);
  const lines = Map.groupBy(pairs.filter(sieve), ({ addr }) => addr >> 6n);
  const ofPairs = [...lines].filter(([line]) => line % (64n * 16n) === 0n);
  expect(ofPairs.length).toBeWithin((0.8 * COUNT * SHARE) / 16, (1.2 * COUNT * SHARE) / 16);
  expect(ofPairs.every(([, words]) => words.length === 2)).toBe(true);
  // Two pairs of one line are two turns.
  const twice = [0, 1, 2, 3].map((i) => ({ ...watch(0, "cohort"), watch_id: i + 1 }));
  const whole = Array.from({ length: 200 }, (_, seed) => twice.filter(watchSieve(seed, 1 / 16)).length);
  expect(whole.every((words) => words % 2 === 0)).toBe(true);
});

test("a run with more watches than fit is refused only where next to none fit", () => {
  const rows = {
    count: COUNT,
    incomplete: 0,
    *rows() {
      for (const [i, one] of all.entries()) {
        yield { ...one, timestamp_ns: BigInt(i), stratum: "weight", dwell_limit_ns: 5n } as unknown as RowOf<"watch">;
      }
    },
  };
  const roomFor = (watches: number, left = COUNT) =>
    labelRoom(watches * BYTES_OF.watches + left * BYTES_OF["watches that are left"]);
  const whole = drawnWatches(rows, 5, 0n, roomFor(COUNT, 0));
  expect([whole.rows.length, whole.left.length]).toEqual([COUNT, 0]);
  const some = drawnWatches(rows, 5, 0n, roomFor(COUNT / 3));
  expect([some.rows.length, some.left.length]).toEqual([COUNT / 3, (2 * COUNT) / 3]);
  expect([...some.leftRows()].map(({ watch_id }) => watch_id)).toEqual(some.left.map(({ watch_id }) => watch_id));
  expect(some.rows.every(({ watch_id }) => some.isTaken(watch_id))).toBe(true);
  expect(some.left.some(({ watch_id }) => some.isTaken(watch_id))).toBe(false);
  expect(() => drawnWatches(rows, 5, 0n, roomFor(50))).toThrow("the run holds more than 50 watches");
  expect(() => drawnWatches(rows, 5, 0n, roomFor(0, 200))).toThrow("the run holds more than 200 watches");
});

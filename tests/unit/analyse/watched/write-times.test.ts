import { describe, expect, test } from "bun:test";
import { type Group, groupsOf } from "../../../../src/analyse/input/group.ts";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import type { WatchSet } from "../../../../src/analyse/input/watch-set.ts";
import { retention } from "../../../../src/analyse/metrics/retention.ts";
import { agesSeen, retentionSeen } from "../../../../src/analyse/watched/write-times.ts";
import type { OP } from "../../../../src/schema/operation.ts";
import { input, MS, region, watch } from "../sample-input.ts";

const RUN_MS = 1000;

/** A watch of a word that is written once in a period and read 0.4 of it later, armed at a moment of its own. */
function ofPeriod(i: number, periodMs: number, trapLimit: number, dwellMs: number): WatchSample {
  const begin = ((37 * i) % (RUN_MS - dwellMs)) * MS;
  const hits: [number, keyof typeof OP][] = [];
  for (let t = begin + ((i % 7) / 7 + 0.05) * periodMs * MS; t < begin + dwellMs * MS; t += periodMs * MS) {
    hits.push([t, "store"], [t + 0.4 * periodMs * MS, "load"]);
  }
  const seen = hits.filter(([time]) => time < begin + dwellMs * MS).slice(0, trapLimit);
  const isCut = seen.length === trapLimit;
  return watch(seen, {
    watch_id: i,
    begin_ns: begin,
    end_ns: isCut ? (seen.at(-1)?.[0] ?? begin) : begin + dwellMs * MS,
    ended_by: isCut ? "trap_limit" : "dwell",
    trap_limit: trapLimit,
    dwell_limit_ns: dwellMs * MS,
  });
}

/** 6 watches of busy words, which end at the 8th trap, and 60 of idle ones, which write so seldom that short windows hold next to nothing. */
function cutAndIdle(): Group {
  const busy = Array.from({ length: 6 }, (_, i) => ofPeriod(i, 0.5, 8, 20));
  const idle = Array.from({ length: 60 }, (_, i) => ofPeriod(6 + i, 12, 8, 20));
  const [group] = groupsOf(input({ watches: [...busy, ...idle], regions: [region()] }));
  if (group === undefined) throw new Error("no group");
  return group;
}

/** 60 watches of busy words that end at the 8th trap, and 40 of idle ones, of which those with 64 traps show far more. */
function busyAndIdle(): WatchSet {
  const busy = Array.from({ length: 60 }, (_, i) => ofPeriod(i, 2, 8, 20));
  const idle = Array.from({ length: 40 }, (_, i) => ofPeriod(60 + i, 12, 64, 200));
  const [group] = groupsOf(input({ watches: [...busy, ...idle], regions: [region()] }));
  if (group === undefined) throw new Error("no group");
  return group.uniform;
}

describe("times from a write", () => {
  test("until its last read are those of all watches, where few with a high trap limit show more", () => {
    expect(retentionSeen(busyAndIdle(), [0.5]).estimates[0]?.value).toBeCloseTo(0.8 * MS, -2);
  });

  test("that no watch can see may be of any length: the interval is as much wider, and has no end where they are most", () => {
    const set = busyAndIdle();
    const highest = (unseen: number): number | null | undefined => retentionSeen(set, [0.5], unseen).estimates[0]?.hi;
    expect(highest(0.9) ?? Number.POSITIVE_INFINITY).toBeGreaterThan(highest(0) ?? Number.POSITIVE_INFINITY);
    expect(highest(2)).toBeNull();
    expect(retentionSeen(set, [0.5], Number.POSITIVE_INFINITY).estimates).toEqual([
      { value: null, lo: null, hi: null },
    ]);
  });

  test("until a read are those of all watches, where few with a high trap limit look back farther", () => {
    expect(agesSeen(busyAndIdle(), [0.5]).estimates[0]?.value).toBeCloseTo(0.8 * MS, -2);
  });

  test("until a read are not told by the few that look back far enough, where none of them fell on a busy word", () => {
    // The busy ones see reads alone before they end, of words that are read 20 times as often as those of the few.
    const busy = Array.from({ length: 60 }, (_, i) => {
      const hits = Array.from({ length: 8 }, (_, k) => [((37 * i) % 900) * MS + (k + 0.5) * MS, "load"] as const);
      const begin_ns = ((37 * i) % 900) * MS;
      const end_ns = begin_ns + 7.5 * MS;
      return watch(hits, { watch_id: i, begin_ns, end_ns, ended_by: "trap_limit", dwell_limit_ns: 20 * MS });
    });
    const idle = Array.from({ length: 40 }, (_, i) => ofPeriod(60 + i, 20, 64, 200));
    const [group] = groupsOf(input({ watches: [...busy, ...idle], regions: [region()] }));
    if (group === undefined) throw new Error("no group");
    // 1000 reads a second of 60 of 100 words, and 50 of the others; of the few 50: half of all reads may be of any age.
    expect(agesSeen(group.uniform, [0.5]).estimates[0]?.hi ?? null).toBeNull();
  });

  test("until a read are not told by strata whose windows look back farther", () => {
    // Half of the reads are of words that are read every 0.2 ms, and so in short windows, and written every 40 ms; the others are 1 ms old.
    const aged = (i: number, stratum: string, bytes: number, periodMs: number, hits: [number, "load" | "store"][]) => {
      const begin = ((37 * i) % 900) * MS;
      const first = begin + ((i % 7) / 7) * periodMs * MS;
      const seen = hits.map(([ms, op]) => [first + ms * MS, op] as const).slice(0, 8);
      const isCut = seen.length === 8;
      const end_ns = isCut ? (seen.at(-1)?.[0] ?? begin) : begin + 20 * MS;
      const ended_by = isCut ? "trap_limit" : "dwell";
      const strata = { stratum, stratum_bytes: bytes, inclusion_probability: 8 / bytes };
      return watch(seen, { watch_id: i, begin_ns: begin, end_ns, ended_by, dwell_limit_ns: 20 * MS, ...strata });
    };
    const reads = Array.from({ length: 30 }, (_, k): [number, "load"] => [0.2 * k, "load"]);
    const busy = Array.from({ length: 60 }, (_, i) => aged(i, "busy", 8000, 0.2, reads));
    const idle = Array.from({ length: 60 }, (_, i) => {
      const each: [number, "load" | "store"][] = [
        [0, "store"],
        [1, "load"],
        [10, "store"],
        [11, "load"],
      ];
      return aged(60 + i, "idle", 400_000, 9, each);
    });
    const [group] = groupsOf(input({ watches: [...busy, ...idle], regions: [region()] }));
    if (group === undefined) throw new Error("no group");
    const [estimate] = agesSeen(group.uniform, [0.6]).estimates;
    expect(estimate?.lo).toBeCloseTo(MS, -1);
    expect(estimate?.hi ?? null).toBeNull();
  });

  test("have no end where watches of busy words end too early: what the others show is longer, not shorter", () => {
    const figures = retention.figures(cutAndIdle(), []).filter(({ source }) => source === "watch");
    expect(figures.map(({ estimate: { value, lo, hi } }) => [value, lo, hi])).toEqual(
      Array.from({ length: 3 }, () => [null, null, null]),
    );
    expect(figures[0]?.why).toContain("used so often");
  });
});

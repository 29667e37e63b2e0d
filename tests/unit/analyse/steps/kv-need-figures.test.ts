import { describe, expect, test } from "bun:test";
import { kvNeedPoints } from "../../../../src/analyse/curves/kv-points.ts";
import { type Group, groupsOf } from "../../../../src/analyse/input/group.ts";
import type { KvRowSample } from "../../../../src/analyse/input/input.ts";
import { RETENTION, retention } from "../../../../src/analyse/metrics/retention.ts";
import { input } from "../sample-input.ts";

const SECOND = 1e9;

/** A row of a sequence of its own, needed for so long by now. */
const row = (filling: number, need_ns: number, isOpen = false): KvRowSample => ({
  ...{ write_ns: 0, is_written: true, last_read_ns: need_ns, evict_ns: isOpen ? Number.NaN : need_ns },
  ...{ total_reads: 1, size_bytes: 64, filling, writes: "once" },
});

function groupOf(kvRows: readonly KvRowSample[]): Group {
  const [group] = groupsOf(input({ window_ns: 100 * SECOND, kvRows }));
  if (group === undefined) throw new Error("no group");
  return group;
}

function medianOf(kvRows: readonly KvRowSample[]) {
  const figure = retention.figures(groupOf(kvRows), []).find(({ metric }) => metric === "retention_p50_ns");
  if (figure === undefined) throw new Error("no median");
  return figure.estimate;
}

describe("the interval of how long rows were needed", () => {
  const ended = Array.from({ length: 14 }, (_, i) => row(i, (i + 1) * SECOND));
  const open = (count: number) => Array.from({ length: count }, (_, i) => row(100 + i, 0, true));

  test("holds what is true of the run, whatever becomes of the rows that are open", () => {
    const { lo, value, hi } = medianOf([...ended, ...open(12)]);
    expect(lo).toBe(0);
    expect(value).toBeCloseTo(7 * SECOND, -8);
    // The 13th of 26, if those that are open are needed longest.
    expect(hi).toBeGreaterThanOrEqual(13 * SECOND);
    expect(medianOf([...ended, ...open(15)]).hi).toBeNull();
    // So does the curve, at the 29th of 110.
    const many = Array.from({ length: 60 }, (_, i) => row(i, (i + 1) * SECOND));
    const points = kvNeedPoints(groupOf([...many, ...open(50)]), RETENTION, false);
    const [point] = points.filter(({ x }) => x < 29.5 * SECOND).slice(-1);
    expect(point?.y).toBeCloseTo(29 / 60, 9);
    expect(point?.lo ?? 1).toBeLessThanOrEqual(29 / 110);
  });

  test("holds the time of rows that are all needed alike, to the last digit", () => {
    for (const need_ns of [1_000_900_123, 1_234_567_891, 511_499_999, 3]) {
      const { lo, hi } = medianOf(Array.from({ length: 40 }, (_, i) => row(i, need_ns)));
      expect([lo ?? Infinity, hi ?? 0].map((end) => Math.sign(end - need_ns))).toEqual([-1, 1]);
    }
  });

  test("has the tails of as few sequences as tell most of it", () => {
    const short = Array.from({ length: 60 }, (_, i) => row(i, SECOND));
    const long = Array.from({ length: 12 }, (_, i) => ({ ...row(200 + i, (2 + i) * SECOND), size_bytes: 6400 }));
    const few = medianOf([...short, ...long]);
    const alone = medianOf(long);
    expect((few.hi ?? 0) - (few.lo ?? 0)).toBeGreaterThanOrEqual(0.9 * ((alone.hi ?? 0) - (alone.lo ?? 0)));
  });
});

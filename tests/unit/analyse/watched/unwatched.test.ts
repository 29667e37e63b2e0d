import { describe, expect, test } from "bun:test";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import type { Span } from "../../../../src/analyse/input/span.ts";
import { unwatchedShare } from "../../../../src/analyse/watched/unwatched.ts";

const SECOND = 1e9;
/** Watches that begin every so many ms between two moments, in s. */
const beginning = (each_ms: number, from_s: number, end_s: number): WatchSample[] =>
  Array.from(
    { length: Math.round((1000 * (end_s - from_s)) / each_ms) },
    (_, i) => ({ begin_ns: from_s * SECOND + i * each_ms * 1e6 }) as unknown as WatchSample,
  );
const span = (from_s: number, end_s: number): Span =>
  ({ begin_ns: [from_s * SECOND], end_ns: [end_s * SECOND], window_ns: (end_s - from_s) * SECOND }) as unknown as Span;

describe("time in which nothing was looked at", () => {
  test("is none where watches begin all the time, more densely now and then", () => {
    expect(unwatchedShare(beginning(10, 0, 20), span(0, 20))).toBe(0);
    expect(unwatchedShare([...beginning(10, 0, 10), ...beginning(20, 10, 20)], span(0, 20))).toBe(0);
  });

  test("is a pause of a second", () => {
    const share = unwatchedShare([...beginning(10, 0, 10), ...beginning(10, 11, 20)], span(0, 20));
    expect(share).toBeCloseTo(1 / 20, 2);
  });

  test("is what of a thinner time watches do not weigh for, as one counts for no more than two", () => {
    const watches = [...beginning(20, 0, 10), ...beginning(200, 10, 20)];
    // 550 watches, of which the 50 of the second half weigh as 100: for 3.6 of its 10 s.
    expect(unwatchedShare(watches, span(0, 20))).toBeWithin(0.28, 0.36);
  });

  test("is counted inside of a phase by the watches of that phase", () => {
    const watches = [...beginning(20, 0, 10), ...beginning(200, 10, 20)];
    expect(unwatchedShare(watches, span(0, 10))).toBe(0);
    expect(unwatchedShare(watches, span(10, 20))).toBe(0);
  });

  describe("where watches are given time by two laws", () => {
    const isSlow = (begin_ns: number): boolean => begin_ns >= 18 * SECOND;
    const lawAt = (begin_ns: number): number => (isSlow(begin_ns) ? 1 : 0);
    const slow = beginning(150, 18, 20);

    test("is none of that in which fewer begin, as they take longer", () => {
      const watches = [...beginning(5, 0, 18), ...slow];
      expect(unwatchedShare(watches, span(0, 20))).toBeGreaterThan(0.09);
      expect(unwatchedShare(watches, span(0, 20), [], lawAt)).toBe(0);
    });

    test("is a pause beside what is usual of either", () => {
      const watches = [...beginning(5, 0, 9), ...beginning(5, 10, 18), ...slow];
      expect(unwatchedShare(watches, span(0, 20), [], lawAt)).toBeCloseTo(1 / 20, 2);
    });
  });
});

import { describe, expect, test } from "bun:test";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import type { Span } from "../../../../src/analyse/input/span.ts";
import { unwatchedShare } from "../../../../src/analyse/watched/unwatched.ts";
import { OP } from "../../../../src/schema/operation.ts";
import { tryWorld } from "../../../../src/simulate/trial.ts";
import type { Policy } from "../../../../src/simulate/world.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";

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

  describe("where the tracer noted that it was late", () => {
    const watches = [...beginning(30, 0, 10), ...beginning(30, 10.3, 20)];
    const late = { stretches: [[10 * SECOND, 10.3 * SECOND]] as const, left_out_ns: 0 };

    test("is a stretch that is no longer than pauses between watches may be", () => {
      expect(unwatchedShare(watches, span(0, 20))).toBe(0);
      expect(unwatchedShare(watches, span(0, 20), { late })).toBeCloseTo(0.3 / 20, 6);
      expect(unwatchedShare(watches, span(0, 10), { late })).toBe(0);
    });

    test("is counted once where it shows by itself", () => {
      const few = [...beginning(30, 0, 10), ...beginning(30, 12, 20)];
      const seen = unwatchedShare(few, span(0, 20));
      expect(seen).toBeWithin(0.1, 0.11);
      expect(unwatchedShare(few, span(0, 20), { late })).toBe(seen);
    });

    test("is none of what was passed over", () => {
      expect(unwatchedShare(watches, span(0, 20), { late, passed_over: [[9 * SECOND, 11 * SECOND]] })).toBe(0);
    });

    test("is what was left out, of a span that goes on behind what was kept", () => {
      const more = { ...late, left_out_ns: 2 * SECOND };
      expect(unwatchedShare(watches, span(0, 20), { late: more })).toBeCloseTo(2.3 / 20, 6);
      expect(unwatchedShare(watches, span(0, 10), { late: more })).toBe(0);
      expect(unwatchedShare(watches, span(10, 11), { late: more })).toBe(1);
    });
  });

  describe("where watches begin seldom, as each may cost much of the budget", () => {
    const seldom = (trap_limit: number, from_s: number, end_s: number): WatchSample[] =>
      beginning(160, from_s, end_s).map((watch) => ({ ...watch, trap_limit, design: "short", dwell_limit_ns: 120e6 }));

    test("is a pause that no schedule has, though it is not many times the usual one", () => {
      const watches = [...seldom(8, 0, 10), ...seldom(8, 11.8, 21.8), ...seldom(8, 23.6, 33.6)];
      expect(unwatchedShare(watches, span(0, 33.6))).toBeWithin(0.1, 0.12);
    });

    test("is none of what a turn of a dearer watch takes", () => {
      const dear = Array.from({ length: 12 }, (_, i): WatchSample[] => [
        ...seldom(8, 3 * i, 3 * i + 1.6),
        { begin_ns: (3 * i + 1.6) * SECOND, trap_limit: 32, design: "long" } as unknown as WatchSample,
      ]).flat();
      expect(unwatchedShare(dear, span(0, 36))).toBe(0);
    });

    test("is none of a run of which the tracer missed nothing", () => {
      const policies: readonly (Policy & { readonly run_s: number; readonly token_ms: number | null })[] = [
        { budget_pct: 0.05, trap_ns: 16_000, retarget_ns: 60_000, run_s: 300, token_ms: null },
        { budget_pct: 1, trap_ns: 100_000, retarget_ns: 375_000, run_s: 100, token_ms: null },
        { budget_pct: 1, trap_ns: 16_000, retarget_ns: 60_000, run_s: 100, token_ms: 5000 },
        { budget_pct: 20, trap_ns: 2000, retarget_ns: 8000, run_s: 20, token_ms: null },
      ];
      for (const { run_s, token_ms, ...policy } of policies) {
        const random = seededRandom(1);
        const words = Array.from({ length: 20 }, () => {
          const time_ns = Float64Array.from({ length: 20 * run_s }, () => random() * run_s * SECOND).sort();
          return { time_ns, op: new Uint8Array(time_ns.length).fill(OP.load) };
        });
        const strata = [{ stratum: "kv_cache/k", region_type: "kv_cache" as const, words }];
        const token_period_ns = token_ms === null ? null : token_ms * 1e6;
        const { input } = tryWorld({ run_ns: run_s * SECOND, token_period_ns, steps: [], strata }, 1, policy);
        expect(unwatchedShare(input.watches, span(0, run_s))).toBe(0);
      }
    });
  });

  describe("where watches are given time by two laws", () => {
    const isSlow = (begin_ns: number): boolean => begin_ns >= 18 * SECOND;
    const lawAt = (begin_ns: number): number => (isSlow(begin_ns) ? 1 : 0);
    const slow = beginning(150, 18, 20);

    test("is none of that in which fewer begin, as they take longer", () => {
      const watches = [...beginning(5, 0, 18), ...slow];
      expect(unwatchedShare(watches, span(0, 20))).toBeGreaterThan(0.09);
      expect(unwatchedShare(watches, span(0, 20), {}, lawAt)).toBe(0);
    });

    test("is a pause beside what is usual of either", () => {
      const watches = [...beginning(5, 0, 9), ...beginning(5, 10, 18), ...slow];
      expect(unwatchedShare(watches, span(0, 20), {}, lawAt)).toBeCloseTo(1 / 20, 2);
    });
  });
});

import { describe, expect, test } from "bun:test";
import type { WatchSet } from "../../../../../src/analyse/input/watch-set.ts";
import { earliestShare, weighedByAge } from "../../../../../src/analyse/watched/counting/moments-after-birth.ts";

const GAP = 10;
const LENGTH = 1000;

/** A watch that was armed at a time in memory that came at another, and was given a time. */
function setOf(armed_ns: number, region_birth_ns: number, dwell_limit_ns: number): WatchSet {
  const watch = { region_birth_ns, region_death_ns: null, dwell_limit_ns };
  const exposure = { armed_ns, window_end_ns: armed_ns + dwell_limit_ns, watch };
  const span = { end_ns: Float64Array.of(region_birth_ns + 20 * LENGTH) };
  return { exposures: [exposure], gap_ns: GAP, weights: { bytes: [8] }, span } as unknown as WatchSet;
}
const windowsOf = (armed_ns: number, birth_ns: number, dwell_ns = 10 * LENGTH) =>
  weighedByAge(setOf(armed_ns, birth_ns, dwell_ns), [LENGTH], Float64Array.of(Math.min(LENGTH, dwell_ns - GAP)));

describe("the moments of a window", () => {
  test("count once where the memory was there before the run, or is older than windows are long", () => {
    for (const [armed, birth] of [
      [5000, 0],
      [5000, 3000],
    ] as const) {
      const { time_ns, weight } = windowsOf(armed, birth);
      expect([time_ns[0], weight(0, armed + GAP), weight(0, armed + GAP + 500)]).toEqual([LENGTH, 1, 1]);
    }
  });

  test("count for as many as fewer windows hold them soon after the memory came, up to twenty times", () => {
    const { weight } = windowsOf(5000, 4990);
    // So old were the moments at which a window can have begun that holds them.
    const counts = [500, 100, 50, 1].map((age) => weight(0, 4990 + GAP + age));
    expect(counts).toEqual([2, 10, 20, 20]);
    // A tenth of a window of the 20 for which the memory lives is so early.
    expect(windowsOf(5000, 4990).early).toBeCloseTo(1 / 200, 9);
  });

  test("count by the time that their own watch was given, where that is shorter than the longest", () => {
    const { time_ns, weight } = windowsOf(5000, 4990, 200 + GAP);
    expect([100, 50, 200, 500].map((age) => weight(0, 4990 + GAP + age))).toEqual([2, 4, 1, 1]);
    let sum = 0;
    for (let t = 5000 + GAP; t < 5000 + GAP + 200; t += 0.5) sum += 0.5 * weight(0, t + 0.25);
    expect(time_ns[0] ?? 0).toBeCloseTo(sum, 0);
  });

  test("make a time that is the sum of what they count for", () => {
    const { time_ns, weight } = windowsOf(5020, 5000);
    let sum = 0;
    for (let t = 5020 + GAP; t < 5020 + GAP + LENGTH; t += 0.5) sum += 0.5 * weight(0, t + 0.25);
    expect(time_ns[0] ?? 0).toBeCloseTo(sum, 0);
    expect(sum).toBeGreaterThan(3 * LENGTH);
  });

  test("are followed by as many unseen ones as the earliest may have been, by how few addresses show one", () => {
    const unit = (...counts: number[]) => ({ complete: [], censored: [], weights: { complete: counts, censored: [] } });
    // One of four addresses shows a moment that counts for ten: there may be 5.6 such.
    const share = earliestShare({ early: 0.02 }, [unit(1, 10), unit(2), unit(3), unit(4)], [1, 1, 1, 1]);
    expect(share).toBeCloseTo((10 / 20) * 5.57, 1);
    expect(earliestShare({ early: 0.02 }, [unit(1), unit(9)], [1, 1])).toBe(0);
    // Where more of the time is so early, fewer than ten addresses tell nothing of the passes in it.
    expect(earliestShare({ early: 0.03 }, [unit(1), unit(9)], [1, 1])).toBe(1);
  });
});

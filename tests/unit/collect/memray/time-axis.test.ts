import { describe, expect, test } from "bun:test";
import { openTimeAxis } from "../../../../src/collect/memray/time-axis.ts";

const CLOCK = { monotonic_ns: 5_000_000_000n, other_ns: 1_000_000_000_000n, uncertainty_ns: 100n };
const START_MS = 1_000_000;

const bracketOf = (axis: ReturnType<typeof openTimeAxis>, interval: number): number[] => {
  const into = { time_ns: 0, error_ns: 0 };
  axis.bracket(interval, into);
  return [into.time_ns, into.error_ns];
};

describe("the time axis of a capture", () => {
  test("puts a record between the memory records around it, half the gap and the clocks being its uncertainty", () => {
    const axis = openTimeAxis(START_MS, 100, CLOCK);
    axis.advance(10);
    axis.advance(30);
    axis.advance(40);
    // Between 10 ms and the end of the millisecond that began at 30.
    expect(bracketOf(axis, 1)).toEqual([5_000_000_000 + 20.5e6, 10.5e6 + 100]);
    expect(bracketOf(axis, 3)).toEqual([5_000_000_000 + 70.5e6, 30.5e6 + 100]);
    expect(axis.longestMs).toBe(20);
  });

  test("allows for a memory record that was written long after its time: the next was taken 10 ms after that", () => {
    const axis = openTimeAxis(START_MS, 300, CLOCK);
    axis.advance(10);
    axis.advance(20);
    // Whoever waited for the lock until 75 ms wrote the record of 20 ms then.
    axis.advance(85);
    expect(bracketOf(axis, 1)).toEqual([5_000_000_000 + 43e6, 33e6 + 100]);
    // When the record of 85 ms was written, nobody knows yet.
    expect(bracketOf(axis, 2)).toEqual([5_000_000_000 + 160.5e6, 140.5e6 + 100]);
  });

  test("allows for a writer that sleeps for less than 10 ms", () => {
    const axis = openTimeAxis(START_MS, 300, CLOCK);
    for (const ms of [1, 3, 5, 9, 11]) axis.advance(ms);
    // The record of 5 ms was in the file 2 ms before the end of the millisecond that began at 9.
    expect(bracketOf(axis, 2)).toEqual([5_000_000_000 + 5.5e6, 2.5e6 + 100]);
  });

  test("takes the longest gap for the end of a capture that was cut", () => {
    const axis = openTimeAxis(START_MS, null, CLOCK);
    axis.advance(10);
    axis.advance(50);
    expect(bracketOf(axis, 2)).toEqual([5_000_000_000 + 70.5e6, 20.5e6 + 100]);
    // The record of 50 ms may have waited as long.
    expect(bracketOf(axis, 1)).toEqual([5_000_000_000 + 50.5e6, 40.5e6 + 100]);
  });

  test("counts a clock that was set back, and never runs backwards", () => {
    const axis = openTimeAxis(START_MS, null, CLOCK);
    axis.advance(100);
    axis.advance(40);
    axis.advance(110);
    expect(axis.setBack).toBe(1);
    expect(bracketOf(axis, 1)).toEqual([5_000_000_000 + 105.5e6, 5.5e6 + 100]);
  });

  test("gives up every second boundary where there are too many, and its brackets still hold", () => {
    const axis = openTimeAxis(START_MS, null, CLOCK, 16);
    let halvings = 0;
    for (let ms = 1; ms <= 200; ms++) {
      // What happens at ms + 0.5 lies in the interval that opens at ms.
      if (axis.advance(ms)) halvings += 1;
      const [time = 0, error = 0] = bracketOf(axis, axis.open);
      expect(Math.abs(time - (5_000_000_000 + (ms + 0.5) * 1e6))).toBeLessThanOrEqual(error);
      const [first = 0, wide = 0] = bracketOf(axis, 0);
      expect(Math.abs(first - 5_000_500_000)).toBeLessThanOrEqual(wide);
    }
    expect(halvings).toBeGreaterThan(3);
    expect(axis.open).toBeLessThan(16);
  });
});

import { describe, expect, test } from "bun:test";
import { besideWatches } from "../../../../../src/collect/ebpf/copies/beside-watches.ts";

const SLOW = { page: 4, large: 20 };

/** A timer that is wound on by hand. */
function timed(slowdown = SLOW) {
  let [ticks, in_string, now] = [0, 0, 0];
  const beside = besideWatches(
    () => ({ ticks, in_string, each_ns: 20e6 }),
    slowdown,
    () => now,
  );
  return {
    beside,
    goOn(more: number, onCopies: number, isArmed: boolean): void {
      ticks += more;
      now += more * 20e6;
      in_string += onCopies;
      beside.note(isArmed);
    },
  };
}

describe("copies beside watches", () => {
  test("cost what they take longer of the ticks that find them", () => {
    const { beside, goOn } = timed();
    goOn(10_000, 1000, true);
    expect(beside.lossShare()).toBeCloseTo((0.1 * 19) / 20, 2);
  });

  test("are known of those without a watch, which would be so many times as long beside one", () => {
    const { beside, goOn } = timed();
    goOn(105_000, 5000, false);
    expect(beside.lossShare()).toBeCloseTo((0.5 * 19) / 20, 2);
  });

  test("of which there are few are taken for chance", () => {
    const { beside, goOn } = timed();
    goOn(150, 3, true);
    goOn(50, 1, false);
    expect(beside.lossShare()).toBeLessThan(0.01);
  });

  test("tell nothing before there are enough ticks", () => {
    const { beside, goOn } = timed();
    goOn(9, 9, true);
    expect(beside.lossShare()).toBe(0);
  });

  test("are forgotten 4 s after they are over, and found again as soon", () => {
    const { beside, goOn } = timed();
    goOn(1000, 900, true);
    for (let s = 0; s < 4; s++) goOn(50, 0, false);
    expect(beside.lossShare()).toBe(0);
    goOn(50, 45, true);
    expect(beside.lossShare()).toBeGreaterThan(0.25);
  });

  test("of a program of many threads are those of two seconds at least, which no phase of its work outlasts", () => {
    let [ticks, in_string, now] = [0, 0, 0];
    const beside = besideWatches(
      () => ({ ticks, in_string, each_ns: 20e6 }),
      SLOW,
      () => now,
    );
    for (let ms = 0; ms < 6000; ms += 5) {
      now += 5e6;
      ticks += 4;
      // 20 ms of each 100 ms.
      if (ms % 100 < 20) in_string += 4;
      beside.note(true);
      if (ms > 2000) expect(beside.lossShare()).toBeWithin(0.18, 0.21);
    }
  });

  test("do not matter on a processor that copies as fast beside a watch", () => {
    const { beside, goOn } = timed({ page: 1, large: 1.1 });
    goOn(100, 100, true);
    expect(beside.lossShare()).toBe(0);
  });

  test("are counted where there was a watch, and all ticks with them", () => {
    const { beside, goOn } = timed();
    goOn(100, 40, true);
    goOn(100, 30, false);
    expect(beside.ticks()).toEqual({ ticks: 200, in_string: 40, each_ns: 20e6 });
  });
});

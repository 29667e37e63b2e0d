import { describe, expect, test } from "bun:test";
import { busyThreads } from "../../../../src/collect/process/busy-threads.ts";

const busy = (elapsed_ms: number, ...threads: readonly (readonly [ran_ms: number, waited_ms: number])[]) =>
  busyThreads(
    threads.map(([ran, waited]) => ({ ran_ns: BigInt(ran * 1e6), waited_ns: BigInt(waited * 1e6) })),
    BigInt(elapsed_ms * 1e6),
  );

describe("the threads that were busy between two readings", () => {
  test("are what they ran and waited for a CPU by the time", () => {
    // Four that share two CPUs, and two that have one by turns.
    expect(busy(200, [100, 100], [100, 100], [120, 80], [80, 120])).toBe(4);
    expect(busy(200, [110, 0], [90, 0])).toBe(1);
    expect(busy(200, [50, 0])).toBe(0.25);
  });

  test("are none of those that hardly run, whose waiting says how busy others are", () => {
    expect(busy(200, [200, 0], [19, 150], [0, 0])).toBe(1);
    expect(busy(200, [200, 0], [20, 180])).toBe(2);
  });

  test("are none where nothing ran, and not known where no time passed", () => {
    expect(busy(200, [0, 0], [0, 50])).toBe(0);
    expect(busy(200)).toBe(0);
    expect(busy(0, [1, 1])).toBeNull();
  });
});

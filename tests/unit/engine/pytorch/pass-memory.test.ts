import { describe, expect, test } from "bun:test";
import { type PassMemory, passMemory } from "../../../../src/engine/pytorch/pass-memory.ts";

const MS = 1_000_000n;
const SECOND = 1000n * MS;

/** Passes of so many allocations each while somebody looks, one every ms. @returns when the next would begin */
function work(memory: PassMemory, passes: number, allocations: number, from_ns: bigint): bigint {
  for (let i = 1; i <= passes; i++) {
    const begin = from_ns + BigInt(i) * MS;
    const pass = Number(begin);
    memory.allocate(1n, 8, null, begin);
    memory.free(1n, begin);
    memory.begin(pass);
    for (let block = 1; block <= allocations; block++) {
      memory.allocate(BigInt(block << 12), 8, pass, begin + BigInt(2 * block));
      memory.free(BigInt(block << 12), begin + BigInt(2 * block + 1));
    }
    memory.end(pass, begin + BigInt(2 * allocations + 2));
  }
  const end = from_ns + BigInt(passes + 1) * MS;
  memory.allocate(1n, 8, null, end);
  memory.free(1n, end);
  return end;
}

/** When it is asked for looks, in ms, by a program whose passes make so many allocations at that time; none where it does nothing. */
function looksOf(allocationsAt: (ms: number) => number, until_ms: number): number[] {
  const memory = passMemory();
  const begins: number[] = [];
  let wasAsking = false;
  for (let ms = 0; ms < until_ms; ms += 50) {
    const now = BigInt(ms) * MS;
    const isAsking = memory.isAsking(now, 100, 1e6);
    if (isAsking && !wasAsking) begins.push(ms);
    if (isAsking && !wasAsking && allocationsAt(ms) > 0) work(memory, 4, allocationsAt(ms), now);
    wasAsking = isAsking;
  }
  return begins;
}

/** A look that has seen both kinds of calls. */
function looked() {
  const memory = passMemory();
  memory.allocate(1n, 8, null, 0n);
  memory.free(1n, 1n);
  return memory;
}

describe("what passes allocate", () => {
  test("is told of passes that were seen whole: blocks, bytes, the most at once, how long they were kept", () => {
    const memory = looked();
    memory.begin(1);
    memory.allocate(0x1000n, 100, 1, 10n);
    memory.allocate(0x2000n, 50, 1, 20n);
    memory.free(0x1000n, 26n);
    memory.allocate(0x1000n, 30, 1, 30n);
    memory.free(0x2000n, 36n);
    memory.free(0x1000n, 46n);
    memory.end(1, 50n);
    memory.begin(2);
    memory.allocate(0x1000n, 1000, 2, 60n);
    memory.free(0x1000n, 70n);
    memory.close();
    // 16 ns each: the 16th quarter of a doubling.
    expect(memory.takeTold()).toEqual({
      passes: 1,
      allocations: 3,
      bytes: 180,
      most_bytes: 150,
      open_bytes: 0,
      kept: new Map([[16, [3, 180]]]),
    });
    expect(memory.takeTold()).toBeNull();
  });

  test("leaves out what is a cache's, what no pass allocated, and what was given back unseen; what is still held is open", () => {
    const memory = looked();
    memory.begin(1);
    memory.allocate(0x1000n, 100, 1, 10n);
    memory.keep(0x1000n);
    memory.allocate(0x2000n, 50, null, 20n);
    memory.allocate(0x3000n, 7, 1, 20n);
    memory.allocate(0x3000n, 9, 1, 30n);
    memory.end(1, 40n);
    memory.allocate(0x4000n, 50, null, 50n);
    memory.free(0x2000n, 60n);
    memory.close();
    expect(memory.takeTold()).toMatchObject({ passes: 1, allocations: 1, bytes: 9, most_bytes: 9, open_bytes: 9 });
  });

  test("is not told of a pass that began before both probes were there, nor of one that outlasted one of them", () => {
    const memory = passMemory();
    memory.begin(1);
    memory.allocate(0x1000n, 100, 1, 10n);
    memory.begin(2);
    memory.allocate(0x2000n, 100, 2, 20n);
    memory.free(0x1000n, 30n);
    memory.begin(3);
    memory.allocate(0x1000n, 100, 3, 40n);
    memory.end(3, 50n);
    memory.close();
    expect(memory.takeTold()).toBeNull();
  });

  test("is asked for from the third pass on, for a tenth of a second, or four passes where these are longer, and eight seconds later again", () => {
    const memory = passMemory();
    expect(memory.isAsking(0n, 2, 1e6)).toBe(false);
    expect(memory.isAsking(SECOND, 3, 1e6)).toBe(true);
    expect(memory.isAsking(SECOND + 99n * MS, 50, 1e6)).toBe(true);
    expect(memory.isAsking(SECOND + 101n * MS, 50, 1e6)).toBe(false);
    expect(memory.isAsking(SECOND + 1500n * MS, 50, 4e8)).toBe(true);
    expect(memory.isAsking(SECOND + 2100n * MS, 50, 8e8)).toBe(false);
    expect(memory.isAsking(9n * SECOND, 50, 1e6)).toBe(true);
  });

  test("is not asked for any more in a look in which eight passes were seen whole", () => {
    const memory = passMemory();
    expect(memory.isAsking(SECOND, 3, 1e6)).toBe(true);
    work(memory, 7, 2, SECOND);
    expect(memory.isAsking(SECOND + 20n * MS, 10, 1e6)).toBe(true);
    work(memory, 1, 2, SECOND + 20n * MS);
    work(memory, 2, 2, SECOND + 30n * MS);
    expect(memory.isAsking(SECOND + 40n * MS, 14, 1e6)).toBe(false);
    expect(memory.isAsking(9n * SECOND, 50, 1e6)).toBe(true);
  });

  test("is seen whole in eight passes, though behind the last one nothing is allocated before it is known to have ended", () => {
    const memory = looked();
    let now = SECOND;
    for (let pass = 1; memory.isAsking(now, 3, 1e6); pass++, now += MS) {
      memory.begin(pass);
      memory.allocate(0x1000n, 8, pass, now + 1n);
      memory.free(0x1000n, now + 2n);
      memory.end(pass, now + 3n);
    }
    memory.close();
    expect(memory.takeTold()?.passes).toBe(8);
  });

  test("is looked at half as often after each look that told as many allocations as the one before, once a minute at last", () => {
    expect(looksOf(() => 200, 250_000)).toEqual([0, 8000, 24_000, 56_000, 120_000, 184_000, 248_000]);
  });

  test("is looked at every eight seconds again once passes allocate more often, or none was seen whole", () => {
    expect(looksOf((ms) => (ms < 50_000 ? 200 : 300), 90_000)).toEqual([0, 8000, 24_000, 56_000, 64_000, 80_000]);
    expect(looksOf((ms) => (ms > 20_000 && ms < 60_000 ? 0 : 200), 90_000)).toEqual([
      0, 8000, 24_000, 32_000, 40_000, 48_000, 56_000, 64_000, 72_000, 88_000,
    ]);
  });
});

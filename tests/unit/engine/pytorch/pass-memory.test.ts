import { describe, expect, test } from "bun:test";
import { passMemory } from "../../../../src/engine/pytorch/pass-memory.ts";

const MS = 1_000_000n;
const SECOND = 1000n * MS;

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

  test("is asked for from the third pass on, for a tenth of a second of every eight, or four passes where these are longer", () => {
    const memory = passMemory();
    expect(memory.isAsking(0n, 2, 1e6)).toBe(false);
    expect(memory.isAsking(SECOND, 3, 1e6)).toBe(true);
    expect(memory.isAsking(SECOND + 99n * MS, 50, 1e6)).toBe(true);
    expect(memory.isAsking(SECOND + 101n * MS, 50, 1e6)).toBe(false);
    expect(memory.isAsking(SECOND + 1500n * MS, 50, 4e8)).toBe(true);
    expect(memory.isAsking(SECOND + 2100n * MS, 50, 8e8)).toBe(false);
    expect(memory.isAsking(9n * SECOND, 50, 1e6)).toBe(true);
  });
});

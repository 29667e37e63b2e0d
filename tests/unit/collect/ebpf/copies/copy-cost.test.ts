import { describe, expect, test } from "bun:test";
import { copyCost, copyWarning } from "../../../../../src/collect/ebpf/copies/copy-cost.ts";

const MS = 1e6;
const SLOW = { page: 3.5, large: 13 };
const ticks = (in_string: number) => ({ ticks: 500, in_string, each_ns: 20 * MS });

describe("what watches cost by slowing down copies", () => {
  test("is all of the time but what copies take alone, where the program does nothing else and there is always a watch", () => {
    const { count = 0, each_ns } = copyCost(ticks(500), SLOW) ?? {};
    const share = (ns = 0): number => (count * ns) / (500 * 20 * MS);
    expect(share(each_ns?.value)).toBeCloseTo(12 / 13, 9);
    expect(share(each_ns?.lo)).toBeWithin(0.7, 2.5 / 3.5);
    expect(share(each_ns?.hi)).toBeCloseTo(25 / 26, 9);
  });

  test("is of the copies that were beside watches only", () => {
    expect((copyCost(ticks(250), SLOW)?.each_ns.value ?? 0) / (20 * MS)).toBeCloseTo(6 / 13, 9);
  });

  test("may be what 500 ticks miss where none was on a copy", () => {
    const { value, lo, hi } = copyCost(ticks(0), SLOW)?.each_ns ?? { value: 1, lo: 1, hi: 0 };
    expect([value, lo]).toEqual([0, 0]);
    expect(hi / (20 * MS)).toBeWithin(0.006, 0.008);
  });

  test("is none on a processor that copies as fast beside a watch, and not known where no tick fell on the program", () => {
    expect(copyCost(ticks(500), { page: 1, large: 1.1 })).toBeNull();
    expect(copyCost({ ticks: 0, in_string: 0, each_ns: 0 }, SLOW)).toBeNull();
  });

  test("is warned of above 2 % of the time", () => {
    expect(copyWarning(ticks(10), SLOW, 0.9)).toBeNull();
    expect(copyWarning(ticks(30), SLOW, 0.9)).toContain("6 % of the CPU time went by in copies and fills");
    expect(copyWarning(ticks(30), SLOW, 0.9)).toContain("up to 13 times as slow");
    expect(copyWarning(ticks(500), { page: 1, large: 1.1 }, 1)).toBeNull();
  });

  test("is said not to be known where there is no timer, as beside words that a person names", () => {
    expect(copyWarning(null, SLOW, 0.9)).toContain("without the timer nobody knows how much of the time they took");
    expect(copyWarning(null, SLOW, 0)).toBeNull();
    expect(copyWarning(null, { page: 1, large: 1.1 }, 0.9)).toBeNull();
  });
});

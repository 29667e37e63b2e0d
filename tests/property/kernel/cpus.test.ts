import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseCpuList } from "../../../src/kernel/cpus.ts";

const cpus = fc.uniqueArray(fc.nat({ max: 4000 }), { maxLength: 200 }).map((list) => list.sort((a, b) => a - b));

/** The list as the kernel prints it: runs as FIRST-LAST. */
function printed(list: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const cpu of list) {
    const last = runs.at(-1);
    if (last && last[1] === cpu - 1) last[1] = cpu;
    else runs.push([cpu, cpu]);
  }
  return `${runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",")}\n`;
}

describe("a list of CPUs", () => {
  test("that the kernel prints is read back", () => {
    fc.assert(fc.property(cpus, (list) => expect(parseCpuList(printed(list))).toEqual(list)));
  });

  test("of any text never throws, and gives a bounded list of whole numbers", () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^[-0-9, ]{0,40}$/));
    fc.assert(
      fc.property(text, (any) => {
        const list = parseCpuList(any);
        expect(list.length).toBeLessThanOrEqual(65536);
        expect(list.every((cpu) => Number.isInteger(cpu) && cpu >= 0)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("leaves out the parts that are none, and keeps the others", () => {
    expect(parseCpuList("0-1,x,3-,5")).toEqual([0, 1, 5]);
    expect(parseCpuList("3-1")).toEqual([]);
    expect(parseCpuList("")).toEqual([]);
  });
});

import { describe, expect, test } from "bun:test";
import { splitBudget } from "../../../../src/collect/ebpf/budget-shares.ts";
import { planParts } from "../../../../src/collect/ebpf/parts.ts";
import type { Pmu } from "../../../../src/collect/ebpf/samples/pmu.ts";

const SKYLAKE: Pmu = {
  name: "cpu",
  type: 4,
  formats: new Map([
    ["event", "config:0-7"],
    ["umask", "config:8-15"],
    ["ldlat", "config1:0-15"],
  ]),
  events: new Map([
    ["mem-loads", "event=0xcd,umask=0x1,ldlat=3"],
    ["mem-stores", "event=0xd0,umask=0x82"],
  ]),
  caps: new Map([
    ["max_precise", "3"],
    ["pmu_name", "skylake"],
  ]),
  cpus: null,
};

/** Names of the parts that spend under some sources, in the order in which they start. */
function spenders(sources: readonly string[], watchRegisters: number): string[] {
  const options = { sources, watchRegisters, clockHz: 100, seed: 1, engineObjects: [] };
  const plan = planParts(options, { pmus: [SKYLAKE], kernelRelease: "6.18.0", arch: "x64" });
  if (!plan.ok) throw new Error(plan.reason);
  return plan.parts.filter(({ spends }) => spends).map(({ name }) => name);
}

const SOURCES = ["auto", "watch", "pebs", "clock"];
const COMBINATIONS = Array.from({ length: 2 ** SOURCES.length - 1 }, (_, i) =>
  SOURCES.filter((_, bit) => ((i + 1) & (1 << bit)) !== 0),
);

describe("the shares of one budget", () => {
  for (const sources of COMBINATIONS) {
    for (const registers of [0, 4]) {
      test(`add up to it with --source ${sources.join(",")} and ${registers} registers`, () => {
        const parts = spenders(sources, registers);
        const budget = splitBudget(3, parts.length);
        let spent = 0;
        for (const _ of parts) {
          const share = budget.next();
          expect(share.pct).toBeGreaterThan(0);
          share.take(share.pct);
          spent += share.pct;
        }
        expect(spent).toBeCloseTo(parts.length === 0 ? 0 : 3, 12);
      });

      test(`never exceed it, and lose nothing that is left, with --source ${sources.join(",")} and ${registers} registers`, () => {
        const parts = spenders(sources, registers);
        const budget = splitBudget(3, parts.length);
        let left = 3;
        for (const [i] of parts.entries()) {
          const share = budget.next();
          expect(share.pct).toBeCloseTo(i === parts.length - 1 ? left : left / 2, 12);
          // One that the kernel refuses takes nothing; others take a third of what they may.
          const taken = i % 2 === 0 ? 0 : share.pct / 3;
          if (taken > 0) share.take(taken);
          left -= taken;
        }
        expect(left).toBeGreaterThanOrEqual(0);
      });
    }
  }

  test("go to the timer first, then to samples, then to watches", () => {
    expect(spenders(["auto", "clock"], 4)).toEqual(["clock", "samples", "watch"]);
    expect(spenders(["auto"], 0)).toEqual(["samples"]);
    expect(spenders(["watch"], 0)).toEqual([]);
  });
});

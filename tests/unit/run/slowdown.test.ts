import { describe, expect, test } from "bun:test";
import type { WatchSummary } from "../../../src/collect/ebpf/watch/watch.ts";
import { type CostInput, costOfRun } from "../../../src/run/slowdown.ts";

const QUIET: CostInput = {
  wall_ns: 10e9,
  cpus: 2,
  tracer_cpu_ns: 0.5e9,
  tracer_peak_rss_bytes: 5e7,
  target_cpu_ns: 10e9,
  faults: 0,
  probe_hits: 0,
  mapping_calls: 0,
  bpf_run_ns: 0,
  watch: null,
};

/** Only what the model reads. */
const watch = {
  counts: { armings: 1000, traps: 20_000 },
  calibration: { trapNs: 5000, retargetNs: 40_000 },
} as WatchSummary;

describe("the slowdown model", () => {
  test("is 0 for a target that met nothing, but for what the tracer may take of its CPUs", () => {
    const { slowdown_pct, cpu_pct, rss_bytes } = costOfRun(QUIET);
    expect([slowdown_pct.value, slowdown_pct.lo]).toEqual([0, 0]);
    // The target kept half of the machine busy.
    expect(slowdown_pct.hi).toBeCloseTo((100 * 0.5e9 * 0.5) / 10e9, 9);
    expect([cpu_pct, rss_bytes]).toEqual([5, 5e7]);
  });

  test("takes the costs from the CPU time that was measured, and sets them against the rest", () => {
    const cost = costOfRun({ ...QUIET, watch });
    const spent = 20_000 * 5000 + 2 * 1000 * 40_000;
    expect(cost.slowdown_pct.value).toBeCloseTo((100 * spent) / (10e9 - spent), 9);
    expect(cost).toMatchObject({ traps: 20_000, trap_ns: 1e8 });
  });

  test("charges a retarget on every CPU, and orders the causes by their cost", () => {
    const { parts } = costOfRun({ ...QUIET, watch, faults: 10 });
    expect(parts.slice(0, 3).map(({ what, count }) => [what, count])).toEqual([
      ["watch traps", 20_000],
      ["watch retargets", 2000],
      ["faults recorded", 10],
    ]);
  });

  test("grows with every cause, and its interval holds its value", () => {
    const value = (of: Partial<CostInput>): number => costOfRun({ ...QUIET, ...of }).slowdown_pct.value;
    for (const cause of ["faults", "probe_hits", "mapping_calls"] as const) {
      expect(value({ [cause]: 100_000 })).toBeGreaterThan(0);
      expect(value({ [cause]: 200_000 })).toBeGreaterThan(value({ [cause]: 100_000 }));
      const { slowdown_pct } = costOfRun({ ...QUIET, [cause]: 100_000 });
      expect(slowdown_pct.lo).toBeLessThan(slowdown_pct.value);
      expect(slowdown_pct.hi).toBeGreaterThan(slowdown_pct.value);
    }
  });

  test("is unknown, not 0, where the CPU time of the target is", () => {
    expect(costOfRun({ ...QUIET, target_cpu_ns: null }).slowdown_pct.value).toBeNaN();
  });
});

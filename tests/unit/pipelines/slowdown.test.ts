import { describe, expect, test } from "bun:test";
import type { WatchSummary } from "../../../src/collect/ebpf/watch/watch.ts";
import { type CostInput, costOfRun } from "../../../src/pipelines/slowdown.ts";

const QUIET: CostInput = {
  wall_ns: 10e9,
  cpus: 2,
  tracer_cpu_ns: 0.5e9,
  tracer_peak_rss_bytes: 5e7,
  target_cpu_ns: 10e9,
  faults: 0,
  mapping_calls: 0,
  probe_hits: 0,
  probe_cost_ns: null,
  programs: [],
  watch: null,
  others: [],
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
    const { parts } = costOfRun({ ...QUIET, watch, probe_hits: 10, probe_cost_ns: 1000 });
    expect(parts.filter(({ count }) => count > 0).map(({ what, count }) => [what, count])).toEqual([
      ["watch traps", 20_000],
      ["watch retargets", 2000],
      ["engine probes", 10],
    ]);
  });

  test("takes the probes at their measured cost, else at a wide guess that holds both machines", () => {
    const probes = (probe_cost_ns: number | null) => costOfRun({ ...QUIET, probe_hits: 100_000, probe_cost_ns });
    expect(probes(2000).parts[0]?.cost_ns).toEqual({ value: 2e8, lo: 1e8, hi: 4e8 });
    const guess = probes(null).slowdown_pct;
    expect(guess.lo).toBeLessThan(probes(1000).slowdown_pct.value);
    expect(guess.hi).toBeGreaterThan(probes(10_000).slowdown_pct.value);
  });

  test("charges the target for its own events, at the mean time of the programs that saw them", () => {
    const program = (name: string, run_ns: number, sampled_runs: number) => ({
      object: "",
      name,
      run_ns,
      sampled_runs,
      sampled_share: 0.04,
      recursion_misses: 0,
    });
    // 40,000 sampled runs of 100 ns: most of them for other processes, which the target does not pay.
    const programs = [program("fault_user", 1e8, 40_000), program("watch_trap", 1e9, 10)];
    const { parts } = costOfRun({ ...QUIET, programs, faults: 1000 });
    const faults = parts.find(({ what }) => what === "faults recorded");
    expect(faults?.cost_ns).toEqual({ value: 150_000, lo: 100_000, hi: 400_000 });
    expect(parts.some(({ what }) => what.includes("watch_trap"))).toBe(false);
  });

  test("is unknown, not 0, where the CPU time of the target is", () => {
    expect(costOfRun({ ...QUIET, target_cpu_ns: null }).slowdown_pct.value).toBeNaN();
  });
});

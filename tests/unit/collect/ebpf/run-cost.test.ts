import { expect, test } from "bun:test";
import { runCost } from "../../../../src/collect/ebpf/run-cost.ts";

const program = (name: string, run_ns: number, sampled_runs: number) => ({
  name,
  object: "faults",
  run_ns,
  sampled_runs,
  sampled_share: 0.04,
  recursion_misses: 0,
});

test("a run costs the mean time of the programs that ran, whatever they are called, and what the kernel does around it", () => {
  // 40,000 sampled runs of 100 ns: most of them for other processes, which the target does not pay.
  expect(runCost([program("fault_user", 1e8, 40_000)])).toEqual({ value: 150, lo: 100, hi: 400 });
  const { value } = runCost([program("fault_user", 1e8, 40_000), program("renamed", 3e8, 40_000)]);
  expect(value).toBe(250);
});

test("a run has a wide guess for its cost where none was timed", () => {
  const guess = runCost([program("fault_user", 0, 0)]);
  expect(guess.lo).toBeLessThan(guess.value);
  expect(guess.hi).toBeGreaterThan(guess.value);
});

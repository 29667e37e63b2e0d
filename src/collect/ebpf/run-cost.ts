/** What one run of a part's BPF programs costs the thread that it interrupts. */
import type { BpfCost } from "../../kernel/bpf-costs.ts";
import type { CollectorCost } from "../collector.ts";

/** Where none of the programs ran while their time was sampled. */
const ASSUMED_NS = { value: 150, lo: 50, hi: 500 };
/** What the kernel does around a program, which its run time leaves out. */
const DISPATCH_NS = 50;

/**
 * The mean time of the programs and what the kernel does to get there. The mean is over the runs for other processes
 * too, which return early: a run that records may cost three times as much.
 * @returns ns per run
 */
export function runCost(programs: readonly BpfCost[]): CollectorCost["each_ns"] {
  const runs = programs.reduce((sum, { sampled_runs }) => sum + sampled_runs, 0);
  if (runs === 0) return ASSUMED_NS;
  const mean = programs.reduce((sum, { run_ns, sampled_share }) => sum + run_ns * sampled_share, 0) / runs;
  return { value: mean + DISPATCH_NS, lo: mean, hi: 3 * mean + 2 * DISPATCH_NS };
}

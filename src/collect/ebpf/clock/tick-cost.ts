/** What a sample of the timer costs the thread that it interrupts: measured on a loop of our own before the run. */
import { u32Bytes } from "../../../kernel/bpf-map.ts";
import { monotonicNs } from "../../../kernel/libc.ts";
import { type MachineCode, openMachineCode } from "../../../kernel/machine-code.ts";
import { IOC, perfEventOpen, perfIoctl } from "../../../kernel/perf-event.ts";
import { runQueueWaitNs } from "../../../kernel/run-queue-wait.ts";
import { recordLayout } from "../../../schema/records.ts";
import { loadClockProgram } from "./clock-program.ts";
import { timerAttr } from "./timer-attr.ts";

export interface TickCost {
  /** Median over pairs of blocks, and the quartiles beside it; ns. */
  readonly value: number;
  readonly lo: number;
  readonly hi: number;
  /** Why it is assumed; null where it was measured. */
  readonly whyAssumed: string | null;
  /** Samples by which it was measured. */
  readonly samples: number;
}

/** Seen on virtual machines, where a timer's interrupt leaves the guest; on bare metal it is nearer to the lower end. */
const ASSUMED_NS = { value: 20_000, lo: 3000, hi: 35_000 };
/** A cost below this is noise of the clock, and would let the budget sample without end. */
const LEAST_NS = 300;
const PAIRS = 12;
const BLOCK_NS = 4e6;
const TRIAL_TURNS = 100_000;
/** A turn takes longer: where waits for a CPU leave less of the trial, its time says nothing. */
const LEAST_TURN_NS = 0.25;
/** Twenty times faster than a run samples at its default: some 80 samples a block. */
const PERIOD_NS = 50_000;

/** Time in ns that `turns` of the loop take, waits for a CPU left out. */
function timed(code: MachineCode, turns: number): number {
  const waited = runQueueWaitNs(process.pid);
  const begin = monotonicNs();
  code.touch(turns);
  return Number(monotonicNs() - begin) - (runQueueWaitNs(process.pid) - waited);
}

function quantileAt(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
}

async function measure(): Promise<TickCost> {
  using code = openMachineCode();
  // An account of its own: nothing of it is in the run's.
  using clock = await loadClockProgram(null);
  clock.targets.update(u32Bytes(process.pid).subarray(0, 4), new Uint8Array(recordLayout("target").bytes));
  using event = perfEventOpen(timerAttr(PERIOD_NS), 0, -1, "timing a sample");
  using _attached = clock.program.attachPerfEvent(event.fd);
  perfIoctl(event, IOC.disable);
  code.touch(TRIAL_TURNS);
  const turnNs = Math.max(LEAST_TURN_NS, timed(code, TRIAL_TURNS) / TRIAL_TURNS);
  const turns = Math.ceil(BLOCK_NS / turnNs);
  const costs: number[] = [];
  let samples = 0;
  for (let pair = 0; pair < PAIRS; pair++) {
    const without = timed(code, turns);
    const before = clock.count("runs");
    perfIoctl(event, IOC.enable);
    const sampled = timed(code, turns);
    perfIoctl(event, IOC.disable);
    const taken = clock.count("runs") - before;
    samples += taken;
    if (taken > 0) costs.push((sampled - without) / taken);
  }
  if (clock.count("runs") === clock.count("foreign")) throw new Error("no sample fell on the loop");
  costs.sort((a, b) => a - b);
  const [value, lo, hi] = [quantileAt(costs, 0.5), quantileAt(costs, 0.25), quantileAt(costs, 0.75)].map((ns) =>
    Math.max(LEAST_NS, ns),
  );
  if (value === undefined || lo === undefined || hi === undefined || quantileAt(costs, 0.5) < LEAST_NS) {
    throw new Error("the CPUs were too busy to time a sample");
  }
  return { value, lo, hi, whyAssumed: null, samples };
}

/** About 100 ms. Where it cannot be measured the cost is assumed, and says so. */
export async function tickCost(): Promise<TickCost> {
  try {
    return await measure();
  } catch (error) {
    return { ...ASSUMED_NS, whyAssumed: error instanceof Error ? error.message : String(error), samples: 0 };
  }
}

/** What a trap and a retarget cost on this machine, measured on loops of our own before the target is watched. */
import { monotonicNs, threadCpuNs } from "../../../kernel/libc.ts";
import { type MachineCode, openMachineCode, type Spinner } from "../../../kernel/machine-code.ts";
import { runQueueWaitNs } from "../../../kernel/run-queue-wait.ts";
import { type CopySlowdown, copySlowdown } from "../copies/copy-slowdown.ts";
import { armWatch, type WatchSpec } from "./arm.ts";
import type { WatchCosts } from "./budget.ts";
import type { SharedSlots } from "./slots.ts";

export interface Calibration extends WatchCosts {
  /** False where a cost is assumed; `whyAssumed` says which and why. */
  readonly measured: boolean;
  readonly whyAssumed: string | null;
  /**
   * Before Linux 6.10 every trap counts against the refresh count, not only those that the program lets through:
   * there a register is let go for as many traps as the watch may have.
   */
  readonly countsEveryTrap: boolean;
  readonly traps: number;
  readonly retargets: number;
  /** What registers do to copies; absent where nothing could be measured. */
  readonly copies?: CopySlowdown;
}

/** Measured on a two-CPU virtual machine without a PMU, Linux 6.18. */
const ASSUMED: WatchCosts = { trapNs: 16_000, retargetNs: 60_000 };
const BLOCKS = 10;
const TRAPS_PER_BLOCK = 100;
const RETARGETS_PER_BLOCK = 20;
/** A cost below this is noise of the clock, and would let the budget arm without end. */
const LEAST_NS = 500;
/** On a busy machine the counting thread may tell nothing; a retarget, two interrupts, is never cheaper than a trap. */
const RETARGET_ATTEMPTS = 3;
/** Retargets cost 3 to 5 traps on the machines that were measured. */
const TRAPS_PER_RETARGET = 4;

export interface CalibrationPlace {
  readonly programFd: number;
  readonly slots: SharedSlots;
  readonly cpus: readonly number[];
  nextGeneration(): number;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

function specOn(code: MachineCode, generation: number, trapLimit: number, refreshCount: number): WatchSpec {
  const mode = "rw";
  return { slot: 0, generation, pid: process.pid, addr: code.wordAddr, sizeBytes: 8, mode, trapLimit, refreshCount };
}

/** Whether a register that was let go for one trap stops although its program did not let that trap through. */
function stopsAtEveryTrap(place: CalibrationPlace, code: MachineCode): boolean {
  const result = armWatch(place.programFd, place.slots, specOn(code, place.nextGeneration(), 8, 1), place.cpus, 0);
  if (!result.ok) throw new Error(`no register: errno ${result.errno}`);
  code.touch(4);
  result.watch.disarm();
  return place.slots.state(0).hits === 1;
}

/** CPU time per turn of a loop that adds 1 to a watched word; the loop itself takes some ns. */
function measureTrap(place: CalibrationPlace, code: MachineCode, countsEveryTrap: boolean): number {
  const traps = BLOCKS * TRAPS_PER_BLOCK;
  const spec = specOn(code, place.nextGeneration(), traps + 1, countsEveryTrap ? traps + 1 : 1);
  const result = armWatch(place.programFd, place.slots, spec, place.cpus, 0);
  if (!result.ok) throw new Error(`no register: errno ${result.errno}`);
  const blocks: number[] = [];
  for (let block = 0; block < BLOCKS; block++) {
    const begin = threadCpuNs();
    code.touch(TRAPS_PER_BLOCK);
    blocks.push((threadCpuNs() - begin) / TRAPS_PER_BLOCK);
  }
  result.watch.disarm();
  const { hits } = place.slots.state(0);
  if (hits !== traps) throw new Error(`${hits} of ${traps} traps were seen on CPUs ${place.cpus.join(",")}`);
  return median(blocks);
}

/** A register for one trap, on a word that nobody touches. */
function armIdle(place: CalibrationPlace, code: MachineCode) {
  const result = armWatch(place.programFd, place.slots, specOn(code, place.nextGeneration(), 1, 1), place.cpus, 0);
  if (!result.ok) throw new Error(`no register: errno ${result.errno}`);
  return result.watch;
}

/** Turns per ns of a counting thread while `work` runs, its waits for a CPU left out; and how long that took. */
function rateDuring(spinner: Spinner, work: () => void): { rate: number; elapsedNs: number } {
  const waited = runQueueWaitNs(spinner.tid);
  const turns = spinner.turns();
  const begin = monotonicNs();
  work();
  const wallNs = Number(monotonicNs() - begin);
  const done = (spinner.turns() - turns) >>> 0;
  const elapsedNs = Math.max(1, wallNs - (runQueueWaitNs(spinner.tid) - waited));
  return { rate: done / elapsedNs, elapsedNs };
}

/** What arming and disarming a register takes from a CPU that counts: median over blocks beside idle ones. */
function measureRetarget(place: CalibrationPlace, code: MachineCode): number {
  const retargets = () => {
    for (let i = 0; i < RETARGETS_PER_BLOCK; i++) {
      const result = armWatch(place.programFd, place.slots, specOn(code, place.nextGeneration(), 1, 1), place.cpus, 0);
      if (result.ok) result.watch.disarm();
    }
  };
  const alone = threadCpuNs();
  retargets();
  const ownNs = (threadCpuNs() - alone) / RETARGETS_PER_BLOCK;
  if (place.cpus.length < 2) return ownNs;
  using spinner = code.spin(place.cpus.at(-1) ?? 0);
  const lost: number[] = [];
  for (let block = 0; block < BLOCKS; block++) {
    const busy = rateDuring(spinner, retargets);
    const until = monotonicNs() + BigInt(Math.round(busy.elapsedNs));
    const idle = rateDuring(spinner, () => {
      while (monotonicNs() < until) {}
    });
    if (idle.rate > 0) lost.push(((1 - busy.rate / idle.rate) * busy.elapsedNs) / RETARGETS_PER_BLOCK);
  }
  return median(lost);
}

/**
 * Times 1,000 traps and 200 retargets. Only `cpus` have registers, so this thread must be able to run on one of them.
 * Where it cannot be measured (no executable memory, all registers taken) the costs are assumed, and say so.
 */
export function calibrate(place: CalibrationPlace): Calibration {
  let countsEveryTrap = false;
  try {
    using code = openMachineCode();
    countsEveryTrap = stopsAtEveryTrap(place, code);
    const trapNs = Math.max(LEAST_NS, measureTrap(place, code, countsEveryTrap));
    let retargetNs = 0;
    for (let i = 0; i < RETARGET_ATTEMPTS && retargetNs < trapNs; i++) retargetNs = measureRetarget(place, code);
    const plausible = retargetNs >= trapNs;
    const copies = copySlowdown(code, () => armIdle(place, code));
    return {
      trapNs,
      retargetNs: plausible ? retargetNs : TRAPS_PER_RETARGET * trapNs,
      measured: plausible,
      whyAssumed: plausible ? null : `the CPUs were too busy to time a retarget: taken as ${TRAPS_PER_RETARGET} traps`,
      countsEveryTrap,
      traps: BLOCKS * TRAPS_PER_BLOCK,
      retargets: BLOCKS * RETARGETS_PER_BLOCK,
      copies,
    };
  } catch (error) {
    const whyAssumed = error instanceof Error ? error.message : String(error);
    return { ...ASSUMED, measured: false, whyAssumed, countsEveryTrap, traps: 0, retargets: 0 };
  }
}

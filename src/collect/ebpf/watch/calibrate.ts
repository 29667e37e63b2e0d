/** What a trap and a retarget cost on this machine, measured on loops of our own before the target is watched. */
import { keptOff } from "../../../kernel/affinity.ts";
import { stableBytes } from "../../../kernel/foreign-memory.ts";
import { monotonicNs, threadCpuNs } from "../../../kernel/libc.ts";
import { type MachineCode, openMachineCode, type Spinner } from "../../../kernel/machine-code.ts";
import { type CopySlowdown, copySlowdown } from "../copies/copy-slowdown.ts";
import { type ArmedWatch, armHeld, beginTogether, type WatchSpec } from "./arm.ts";
import type { WatchCosts } from "./budget.ts";
import { type HeldRegisters, heldRegisters } from "./registers/held-registers.ts";
import type { SharedSlots } from "./slots.ts";

export interface Calibration extends WatchCosts {
  /** What a trap takes of a loop that touches one word and nothing else, as within a pass: less than `trapNs`, which is of a program that reads more than its caches hold. */
  readonly warmTrapNs: number;
  /** False where a cost is assumed; `whyAssumed` says which and why. */
  readonly measured: boolean;
  readonly whyAssumed: string | null;
  /**
   * Before Linux 6.10 every trap counts against the refresh count, not only those that the program lets through:
   * there a register is let go for as many traps as the watch may have.
   */
  readonly countsEveryTrap: boolean;
  /** A register that stopped itself can be used again: they are held from watch to watch. Absent where they are not. */
  readonly keepsRegisters?: boolean;
  /** True where registers could be had and none of our own accesses trapped: what watches see is nothing. */
  readonly isBlind?: boolean;
  readonly traps: number;
  readonly retargets: number;
  /** What registers do to copies; absent where nothing could be measured. */
  readonly copies?: CopySlowdown;
}

/** Measured on a two-CPU virtual machine without a PMU, Linux 6.18. */
const ASSUMED: WatchCosts = { trapNs: 16_000, retargetNs: 60_000 };
const BLOCKS = 10;
const TRAPS_PER_BLOCK = 100;
const RETARGET_BLOCKS = 20;
const RETARGETS_PER_BLOCK = 10;
/** More than the caches of one CPU hold, the one that all share left out. */
const SWEPT_BYTES = 4 << 20;
const SWEEPS = 100;
/** A cost below this is noise of the clock, and would let the budget arm without end. */
const LEAST_NS = 500;
/** Blocks in which another program had the CPU tell nothing: as many are tried, and so few are enough. */
const MOST_BLOCKS = 100;
const ENOUGH_BLOCKS = 5;
/** Retargets cost 3 to 5 traps on the machines that were measured. */
const TRAPS_PER_RETARGET = 4;

/** No access trapped, as where what runs this machine does not pass debug registers on. */
class NoTrap extends Error {}
const NO_TRAP = "debug registers of this machine do not trap: none of our own accesses was seen";

/** Why nothing can be watched here; null where something can. */
export const whyBlind = ({ isBlind }: Calibration): string | null => (isBlind ? NO_TRAP : null);

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

/** What arms on our own word. */
interface Loop {
  readonly place: CalibrationPlace;
  readonly code: MachineCode;
  readonly held: HeldRegisters;
}

/** Arms on our own word, or so many bytes behind it, where nothing is. @throws Error where no register is free */
function armOn({ place, code, held }: Loop, trapLimit: number, refreshCount: number, behind = 0n): ArmedWatch {
  const [slot, generation, addr] = [0, place.nextGeneration(), code.wordAddr + behind];
  const spec: WatchSpec = {
    slot,
    generation,
    pid: process.pid,
    addr,
    sizeBytes: 8,
    mode: "rw",
    trapLimit,
    refreshCount,
  };
  const result = armHeld({ ...place, held }, spec);
  if (!result.ok) throw new Error(`no register: errno ${result.errno}`);
  beginTogether([result.watch], 0);
  return result.watch;
}

/** Whether a register that was let go for one trap stops although its program did not let that trap through. */
function stopsAtEveryTrap(loop: Loop): boolean {
  const watch = armOn(loop, 8, 1);
  loop.code.touch(4);
  watch.disarm();
  return loop.place.slots.state(0).hits === 1;
}

/** Touches in each turn, and the traps that must come of them, on our word and beside it, where a register stops at the 8th. */
const TURNS = [
  { touches: 50, behind: 0n, hits: 8 },
  { touches: 50, behind: 64n, hits: 0 },
  { touches: 4, behind: 0n, hits: 4 },
  { touches: 50, behind: 0n, hits: 8 },
];

/**
 * Whether one register does in turn after turn what a new one would: it may stop itself, get another address and be let go again.
 * This thread may change its CPU: each one's register stops at its own next trap.
 */
function canBeHeld(loop: Loop): boolean {
  const { place, code } = loop;
  return TURNS.every(({ touches, behind, hits }) => {
    const watch = armOn(loop, 8, 1, behind);
    code.touch(touches);
    watch.disarm();
    const seen = place.slots.state(0).hits;
    return seen >= hits && seen < hits + place.cpus.length;
  });
}

/** CPU time per turn of a loop that adds 1 to a watched word; the loop itself takes some ns. */
function measureTrap(loop: Loop, countsEveryTrap: boolean): number {
  const { place, code } = loop;
  const traps = BLOCKS * TRAPS_PER_BLOCK;
  const watch = armOn(loop, traps + 1, countsEveryTrap ? traps + 1 : 1);
  const blocks: number[] = [];
  for (let block = 0; block < BLOCKS; block++) {
    const begin = threadCpuNs();
    code.touch(TRAPS_PER_BLOCK);
    blocks.push((threadCpuNs() - begin) / TRAPS_PER_BLOCK);
  }
  watch.disarm();
  const { hits } = place.slots.state(0);
  if (hits === 0) throw new NoTrap(NO_TRAP);
  if (hits !== traps) throw new Error(`${hits} of ${traps} traps were seen on CPUs ${place.cpus.join(",")}`);
  return median(blocks);
}

/** How long a tick of the processor's clock has been from this call on, ns. */
function tickMeter(code: MachineCode): () => number {
  const [begin, beginNs] = [code.ticks(), monotonicNs()];
  return () => Number(monotonicNs() - beginNs) / (code.ticks() - begin);
}

/** What a trap takes where the program reads more than its caches hold between two: the median of these. */
function measureColdTrap(loop: Loop, countsEveryTrap: boolean): number {
  const { place, code } = loop;
  const through = stableBytes(SWEPT_BYTES).fill(1);
  const watch = armOn(loop, SWEEPS + 1, countsEveryTrap ? SWEEPS + 1 : 1);
  const tickNs = tickMeter(code);
  const trapNs = median(code.sweep(SWEEPS, through)) * tickNs();
  watch.disarm();
  const { hits } = place.slots.state(0);
  if (hits !== SWEEPS) throw new Error(`${hits} of ${SWEEPS} traps were seen`);
  return trapNs;
}

/** In ticks of the processor's clock. */
interface HeldUp {
  readonly stopped: number;
  readonly elapsed: number;
}

/** What interrupts took meanwhile of a thread that never rests, and how long that was; null where another had its CPU. */
function heldUpDuring({ code }: Loop, spinner: Spinner, work: () => void): HeldUp | null {
  const [begin, stopped, away] = [code.ticks(), spinner.stoppedTicks(), spinner.awayTicks()];
  work();
  const end = code.ticks();
  // It notices that it was away when it is back.
  if (spinner.awayTicks() > away || end - spinner.lastTicks() > (end - begin) / 2) return null;
  return { stopped: spinner.stoppedTicks() - stopped, elapsed: end - begin };
}

/**
 * What arming and disarming a register takes from a CPU that is busy: median over blocks, less what its other interrupts take in as long.
 * @returns 0 where other programs left it too little of the CPU to see that
 */
function measureRetarget(loop: Loop): number {
  const { place, code } = loop;
  const retargets = () => {
    for (let i = 0; i < RETARGETS_PER_BLOCK; i++) armOn(loop, 1, 1).disarm();
  };
  const alone = threadCpuNs();
  retargets();
  const ownNs = (threadCpuNs() - alone) / RETARGETS_PER_BLOCK;
  if (place.cpus.length < 2) return ownNs;
  const cpu = place.cpus.at(-1) ?? 0;
  using spinner = code.spin(cpu);
  using _ = keptOff(cpu);
  const armed: HeldUp[] = [];
  const idle: HeldUp[] = [];
  const tickNs = tickMeter(code);
  for (let block = 0; block < MOST_BLOCKS && Math.min(armed.length, idle.length) < RETARGET_BLOCKS; block++) {
    const from = code.ticks();
    const arming = heldUpDuring(loop, spinner, retargets);
    const until = 2 * code.ticks() - from;
    const resting = heldUpDuring(loop, spinner, () => {
      while (code.ticks() < until) {}
    });
    if (arming !== null) armed.push(arming);
    if (resting !== null) idle.push(resting);
  }
  if (Math.min(armed.length, idle.length) < ENOUGH_BLOCKS) return 0;
  const otherShare = median(idle.map(({ stopped, elapsed }) => stopped / elapsed));
  return (median(armed.map(({ stopped, elapsed }) => stopped - otherShare * elapsed)) * tickNs()) / RETARGETS_PER_BLOCK;
}

/**
 * Times 1,100 traps and 200 retargets, in some 0.1 s. Only `cpus` have registers, so this thread must be able to run on one of them.
 * Where it cannot be measured (no executable memory, all registers taken) the costs are assumed, and say so.
 */
export function calibrate(place: CalibrationPlace): Calibration {
  let countsEveryTrap = false;
  let keepsRegisters = false;
  try {
    using code = openMachineCode();
    const registers = (keeps: boolean) => heldRegisters(place.cpus, keeps, () => 1);
    const once = { place, code, held: registers(false) };
    countsEveryTrap = stopsAtEveryTrap(once);
    using kept = registers(true);
    keepsRegisters = !countsEveryTrap && canBeHeld({ ...once, held: kept });
    // What is measured is what the run does.
    const loop = keepsRegisters ? { ...once, held: kept } : once;
    const warmTrapNs = Math.max(LEAST_NS, measureTrap(loop, countsEveryTrap));
    // Models are larger than caches: what a trap takes of them is what the budget pays.
    const trapNs = Math.max(warmTrapNs, measureColdTrap(loop, countsEveryTrap));
    const retargetNs = measureRetarget(loop);
    // A retarget, two interrupts, is never cheaper than a trap: what is less was not seen.
    const plausible = retargetNs >= warmTrapNs;
    // A register for one trap, on a word that nobody touches.
    const copies = copySlowdown(code, () => armOn(loop, 1, 1));
    return {
      trapNs,
      warmTrapNs,
      retargetNs: plausible ? retargetNs : Math.max(trapNs, TRAPS_PER_RETARGET * warmTrapNs),
      measured: plausible,
      whyAssumed: plausible ? null : `the CPUs were too busy to time a retarget: taken as ${TRAPS_PER_RETARGET} traps`,
      countsEveryTrap,
      keepsRegisters,
      traps: BLOCKS * TRAPS_PER_BLOCK + SWEEPS,
      retargets: RETARGET_BLOCKS * RETARGETS_PER_BLOCK,
      copies,
    };
  } catch (error) {
    const whyAssumed = error instanceof Error ? error.message : String(error);
    const isBlind = error instanceof NoTrap;
    return {
      ...ASSUMED,
      warmTrapNs: ASSUMED.trapNs,
      measured: false,
      whyAssumed,
      isBlind,
      countsEveryTrap,
      keepsRegisters,
      traps: 0,
      retargets: 0,
    };
  }
}

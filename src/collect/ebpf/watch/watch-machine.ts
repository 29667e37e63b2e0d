/** What watching needs of the machine: registers, the traps that they make, what both cost, and the program's code. */
import { type CodeMap, createCodeMap } from "../../../code/code-bytes.ts";
import { type AccessDecoder, createAccessDecoder } from "../../../code/trap-operation.ts";
import { onlineCpus } from "../../../kernel/cpus.ts";
import { monotonicNs, threadCpuNs, tickNs } from "../../../kernel/libc.ts";
import type { Looks } from "../../../kernel/looks.ts";
import type { LedgerPlace, LedgerRow } from "../../../schema/ledger.ts";
import type { WatchMode } from "../../../schema/words.ts";
import { type ArmedWatch, type ArmResult, armHeld, beginTogether, registersOf, type WatchSpec } from "./arm.ts";
import type { Calibration } from "./calibrate.ts";
import { heldRegisters } from "./registers/held-registers.ts";
import { type RegisterRoom, registerRoom } from "./registers/register-room.ts";
import type { CpuTraps, SlotState } from "./slots.ts";
import type { Trap } from "./traps.ts";
import { openWatchProgram } from "./watch-program.ts";

export interface WatchMachine extends Disposable {
  /** CPUs on which every watch holds its registers: the same list when it changes. */
  readonly cpus: readonly number[];
  /** Adds CPUs for the watches to come. */
  widen(cpus: readonly number[]): void;
  /** Leaves CPUs out for the watches to come. */
  narrow(cpus: readonly number[]): void;
  readonly calibration: Calibration;
  readonly registers: RegisterRoom;
  /**
   * Gives registers back to the kernel that were held long enough.
   * @returns true while some go back: nothing is armed meanwhile, as taking one would wait for them
   */
  giveBack(): boolean;
  /** As `Room` has it. */
  isReady(modes: readonly WatchMode[]): boolean;
  /** CLOCK_MONOTONIC. */
  nowNs(): bigint;
  /** CPU time of the thread that polls. */
  cpuNs(): number;
  /** The number of a watch that begins: no other has had it for a long time. */
  nextGeneration(): number;
  /** Takes the registers of a watch on every CPU. */
  arm(spec: WatchSpec): ArmResult;
  /** Begins watches that were armed: after a part of a tick at random, or at once; the moment, CLOCK_MONOTONIC. */
  begin(watches: readonly ArmedWatch[], rests: boolean): bigint;
  state(slot: number): SlotState;
  /** New traps on one CPU, by what they were. */
  takeTraps(cpu: number): CpuTraps;
  /** Gives every trap since the last call, in the order of each CPU, with the generation of its watch. */
  drain(take: (generation: number, trap: Trap) => void): void;
  /** Traps that were given so far. */
  rowsRead(): number;
  ledger(place: LedgerPlace): LedgerRow[];
  readonly decode: AccessDecoder;
  /** Reads the code of a process that is watched, once; forgets it when it is gone. */
  learn(pid: number): void;
  forget(pid: number): void;
}

export interface MachineWishes {
  /** CPUs on which the target may run; all that are online when it is empty. */
  readonly affinityCpus: readonly number[];
  /** Registers to use on each CPU at most, and those of them that there is something for. */
  readonly registers: number;
  readonly wanted: number;
  /** The map of watched processes. */
  readonly targetsFd: number | undefined;
  /** Looks that hold locks of the target. */
  readonly looks: Looks | undefined;
}

/** The code of every process that is watched, read when its first watch is armed: traps are decoded by it. */
function codeOfWatched(code: CodeMap): Pick<WatchMachine, "learn" | "forget"> {
  const learned = new Set<number>();
  return {
    learn(pid) {
      if (learned.has(pid)) return;
      learned.add(pid);
      code.learn(pid);
    },
    forget: (pid) => void learned.delete(pid),
  };
}

/**
 * Loads the kernel program, counts the free registers and measures what traps and retargets cost (about 80 ms).
 * @throws MrmTraceError environment when the program cannot be loaded
 */
export async function openWatchMachine(wishes: MachineWishes): Promise<WatchMachine> {
  using opening = new DisposableStack();
  const program = opening.use(await openWatchProgram(wishes.targetsFd));
  const allCpus = onlineCpus();
  const cpus = [...(wishes.affinityCpus.length > 0 ? wishes.affinityCpus : allCpus)];
  const room = registerRoom({ cpus, most: wishes.registers, wanted: wishes.wanted }, monotonicNs());
  const calibration = program.calibrate(allCpus);
  const held = opening.use(heldRegisters(cpus, calibration.keepsRegisters === true, () => room.count));
  const code = opening.use(createCodeMap(() => Number(monotonicNs()), wishes.looks?.kind("looks at maps")));
  const { slots } = program;
  const place = { programFd: program.fd, slots, held };
  const owned = opening.move();
  const tick_ns = tickNs();
  return {
    cpus,
    widen(more) {
      cpus.push(...more);
      held.cpusChanged();
    },
    narrow(fewer) {
      cpus.splice(0, cpus.length, ...cpus.filter((cpu) => !fewer.includes(cpu)));
      held.cpusChanged();
    },
    calibration,
    registers: {
      get count() {
        return room.count;
      },
      // Those that no watch has are ours too.
      miss: (watching, nowNs) => room.miss(Math.max(watching, held.count), nowNs),
      lookAgain: (watching, nowNs) => room.lookAgain(Math.max(watching, held.count), nowNs),
      summary: room.summary,
    },
    giveBack: held.giveBack,
    isReady: (modes) => held.isReady(modes.map((mode) => registersOf(mode).map(({ kind }) => kind))),
    nowNs: monotonicNs,
    cpuNs: threadCpuNs,
    nextGeneration: program.nextGeneration,
    arm: (spec) => armHeld(place, spec),
    begin: (watches, rests) => beginTogether(watches, rests ? tick_ns * Math.random() : 0),
    state: slots.state,
    takeTraps: slots.takeTraps,
    drain: program.drain,
    rowsRead: program.rowsRead,
    ledger: program.ledger,
    decode: createAccessDecoder(code),
    ...codeOfWatched(code),
    [Symbol.dispose]: () => owned.dispose(),
  };
}

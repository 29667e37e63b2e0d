/** Puts watches into the debug registers of every CPU, lets them begin together, and takes each out again. */

import { monotonicNs } from "../../../kernel/libc.ts";
import { pause } from "../../../kernel/urgent.ts";
import { linkPerfEvent, WATCHPOINT } from "../../../kernel/watchpoint.ts";
import { ROLE } from "../../../schema/shared-numbers.ts";
import type { WatchMode } from "../../../schema/words.ts";
import type { CpuRegister, HeldRegister, HeldRegisters } from "./registers/held-registers.ts";
import { cookieOf, type SharedSlots } from "./slots.ts";

export interface WatchSpec {
  readonly slot: number;
  readonly generation: number;
  readonly pid: number;
  /** Aligned to `sizeBytes`. */
  readonly addr: bigint;
  /** 1, 2, 4 or 8. */
  readonly sizeBytes: number;
  readonly mode: WatchMode;
  /** k: the watch ends at this trap; those that continue a string instruction do not count. */
  readonly trapLimit: number;
  /** Count given to the register when it is let go: see `Calibration.countsEveryTrap`. */
  readonly refreshCount: number;
}

export interface ArmedWatch {
  /** Registers that hold it, over all CPUs. */
  readonly registers: number;
  /** Retries after ENOSPC that were needed. */
  readonly retries: number;
  /** Switches its registers on: what they trap on before `expose` is not recorded. */
  letGo(): void;
  /** Begins its exposure. */
  expose(): void;
  /** Takes the watch out of every register; the clock just before the first. */
  disarm(): bigint;
}

export type ArmResult =
  | { readonly ok: true; readonly watch: ArmedWatch }
  | { readonly ok: false; readonly errno: number; readonly retries: number };

const MS_NS = 1e6;
const RETRY_LIMIT = 50;

/**
 * Registers that a mode takes on each CPU: role and kind, in the order in which the kernel must look at them. Of a pair that of
 * stores is first: behind its twin it would take the trap before the last for the last, and the last store would look like a load.
 */
export function registersOf(mode: WatchMode): readonly { role: number; kind: number }[] {
  switch (mode) {
    case "rw":
      return [{ role: ROLE.single, kind: WATCHPOINT.read_write }];
    case "w":
      return [{ role: ROLE.single, kind: WATCHPOINT.write }];
    case "pair":
      return [
        { role: ROLE.pair_w, kind: WATCHPOINT.write },
        { role: ROLE.pair_rw, kind: WATCHPOINT.read_write },
      ];
  }
}

/** What arming needs. */
export interface ArmingPlace {
  readonly programFd: number;
  readonly slots: SharedSlots;
  readonly held: HeldRegisters;
}

/**
 * Takes every register for `spec`, switched off, and links the program.
 * @throws MrmTraceError environment when the kernel refuses for another reason than taken registers
 */
export function armHeld({ programFd, slots, held }: ArmingPlace, spec: WatchSpec): ArmResult {
  const { slot, generation, addr, sizeBytes } = spec;
  using opened = new DisposableStack();
  const registers: { readonly role: number; readonly perCpu: readonly CpuRegister[] }[] = [];
  let last: HeldRegister | undefined;
  let retries = 0;
  slots.assign(slot, generation, spec.pid, addr, spec.trapLimit);
  for (const { role, kind } of registersOf(spec.mode)) {
    const result = held.take({ addr, sizeBytes, kind }, RETRY_LIMIT - retries, last);
    retries += result.retries;
    if (!result.ok) return { ok: false, errno: result.errno, retries };
    opened.defer(() => held.give(result.register));
    last = result.register;
    registers.push({ role, perCpu: last.perCpu });
  }
  const links = opened.use(new DisposableStack());
  for (const { role, perCpu } of registers) {
    for (const { event } of perCpu) links.use(linkPerfEvent(programFd, event, cookieOf(generation, slot, role)));
  }
  const armed = opened.move();
  return {
    ok: true,
    watch: {
      registers: registers.reduce((sum, { perCpu }) => sum + perCpu.length, 0),
      retries,
      letGo() {
        for (const { perCpu } of registers) for (const register of perCpu) register.begin(spec.refreshCount);
      },
      expose: () => slots.arm(slot),
      disarm() {
        const endNs = monotonicNs();
        for (const { role, perCpu } of registers) {
          for (const register of perCpu) register.stop(() => slots.hasStopped(slot, role, register.cpu));
        }
        armed.dispose();
        return endNs;
      },
    },
  };
}

/**
 * Lets watches go whose registers are taken, and begins their exposures at one moment, which is the end of all that arming takes from a program
 * whose CPU we run on: the rest is near. Registers switch on one by one, so the traps before are charged to the budget and not recorded.
 * The kernel takes a register of a CPU, gives it back and changes its kind under a lock that waits for RCU, whose grace periods
 * end at ticks (bp_constraints_lock, kernel/events/hw_breakpoint.c), and on a busy CPU our turn begins at one: let go at once,
 * watches would begin at ticks, and always at the same moments of a program that works in steps of so many ticks.
 * @param rest_ns until they are let go: of a tick's time at random
 * @returns the moment, CLOCK_MONOTONIC
 */
export function beginTogether(watches: readonly ArmedWatch[], rest_ns: number): bigint {
  pause(rest_ns / MS_NS);
  for (const watch of watches) watch.letGo();
  for (const watch of watches) watch.expose();
  return monotonicNs();
}

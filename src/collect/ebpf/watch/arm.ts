/** Puts one watch into the debug registers of every CPU, and takes it out again. */

import { type Fd, monotonicNs } from "../../../kernel/libc.ts";
import { linkPerfEvent, openWatchpoint, refreshWatchpoint, WATCHPOINT } from "../../../kernel/watchpoint.ts";
import { ROLE } from "../../../schema/shared-numbers.ts";
import type { WatchMode } from "../../../schema/words.ts";
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
  /** When the last register was on: the exposure begins. */
  readonly beginNs: bigint;
  /** Registers that hold it, over all CPUs. */
  readonly registers: number;
  /** Retries after ENOSPC that were needed. */
  readonly retries: number;
  /** Takes the watch out of every register; the clock just before the first. */
  disarm(): bigint;
}

export type ArmResult =
  | { readonly ok: true; readonly watch: ArmedWatch }
  | { readonly ok: false; readonly errno: number; readonly retries: number };

const ENOSPC = 28;
const MS_NS = 1e6;
/** A register that was just closed may be counted as taken for a moment. */
const RETRY_PAUSE_MS = 0.2;
const RETRY_LIMIT = 50;
/** Nobody writes to it: who waits for it rests. */
const pauseWord = new Int32Array(new SharedArrayBuffer(4));

/** Registers that a mode takes on each CPU: role and kind, in the order in which they must open. */
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

/**
 * Arms `spec` on `cpus`: opens every register disabled, links the program, lets them go, then begins the exposure.
 * Registers switch on one by one, so the traps before the last are charged to the budget and not recorded.
 * The kernel takes a register of a CPU, and gives it back, under a lock that waits for RCU, whose grace periods end at ticks
 * (bp_constraints_lock, kernel/events/hw_breakpoint.c): let go at once, watches would begin at ticks alone, and always at the
 * same moments of a program that works in steps of so many ticks.
 * Never re-uses an open event: one that stopped itself cannot be started again (seen on Linux 6.18).
 * @param rest_ns from the last register taken until they are let go: of a tick's time at random
 * @throws MrmTraceError environment when the kernel refuses for another reason than taken registers
 */
export function armWatch(
  programFd: number,
  slots: SharedSlots,
  spec: WatchSpec,
  cpus: readonly number[],
  rest_ns: number,
): ArmResult {
  using opened = new DisposableStack();
  const events: Fd[] = [];
  const fds: Fd[] = [];
  let retries = 0;
  slots.assign(spec.slot, spec.generation, spec.pid, spec.addr, spec.trapLimit);
  for (const { role, kind } of registersOf(spec.mode)) {
    for (const cpu of cpus) {
      let result = openWatchpoint(spec.addr, spec.sizeBytes, kind, cpu);
      while (!result.ok && result.errno === ENOSPC && retries < RETRY_LIMIT) {
        retries += 1;
        Atomics.wait(pauseWord, 0, 0, RETRY_PAUSE_MS);
        result = openWatchpoint(spec.addr, spec.sizeBytes, kind, cpu);
      }
      if (!result.ok) return { ok: false, errno: result.errno, retries };
      events.push(opened.use(result.event));
      fds.push(opened.use(linkPerfEvent(programFd, result.event, cookieOf(spec.generation, spec.slot, role))));
    }
  }
  if (rest_ns > 0) Atomics.wait(pauseWord, 0, 0, rest_ns / MS_NS);
  for (const event of events) refreshWatchpoint(event, spec.refreshCount);
  slots.arm(spec.slot);
  const beginNs = monotonicNs();
  opened.move();
  return {
    ok: true,
    watch: {
      beginNs,
      registers: events.length,
      retries,
      disarm() {
        const endNs = monotonicNs();
        for (const fd of fds) fd[Symbol.dispose]();
        for (const event of events) event[Symbol.dispose]();
        return endNs;
      },
    },
  };
}

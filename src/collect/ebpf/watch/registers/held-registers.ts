/** Debug registers that stay taken from one watch to the next: to take one, or to give it back, the kernel makes us wait. */
import { type Fd, monotonicNs } from "../../../../kernel/libc.ts";
import { pause } from "../../../../kernel/urgent.ts";
import {
  beginWatchpoint,
  openWatchpoint,
  refreshWatchpoint,
  retargetWatchpoint,
  stopWatchpoint,
} from "../../../../kernel/watchpoint.ts";

/** What a register is to trap on. */
export interface WatchedBytes {
  readonly addr: bigint;
  readonly sizeBytes: number;
  /** Of WATCHPOINT. */
  readonly kind: number;
}

/** A register of one CPU. */
export interface CpuRegister {
  readonly cpu: number;
  readonly event: Fd;
  /** Lets it go. @param refreshCount overflows after which it stops by itself, where it is new */
  begin(refreshCount: number): void;
  /** Stops it. @param hasStopped asks then whether its program has let a trap through, which stopped it before */
  stop(hasStopped: () => boolean): void;
}

/** A register of every CPU, switched off. */
export interface HeldRegister {
  readonly perCpu: readonly CpuRegister[];
  /** Of WATCHPOINT. */
  kind: number;
  /** When all of it was there. */
  readonly takenNs: bigint;
  /** Place in the order in which they were taken, in which the kernel looks at them where one access meets several. */
  readonly order: number;
  /** How often the CPUs had changed by then. */
  readonly changes: number;
}

export type TakeResult =
  | {
      readonly ok: true;
      readonly register: HeldRegister;
      readonly retries: number;
    }
  | { readonly ok: false; readonly errno: number; readonly retries: number };

export interface HeldRegisters extends Disposable {
  /** Registers on every CPU that are taken, those that no watch has among them, and those that go back. */
  readonly count: number;
  /**
   * Gives a register for these bytes.
   * @param retries how often to ask again where none is free
   * @param behind the kernel must look at it after that one
   */
  take(bytes: WatchedBytes, retries: number, behind?: HeldRegister): TakeResult;
  /** Takes back a register that is stopped, for another watch. */
  give(register: HeldRegister): void;
  /**
   * Gives back to the kernel, by another thread, those that no watch has and that were held long enough.
   * @returns true while some go back: to take one meanwhile is to wait for it
   */
  giveBack(): boolean;
  /**
   * Closes those that no watch has, and gives the others back after their watch: of CPUs that were added they have
   * none, and what they have of a CPU that was off line is dead.
   */
  cpusChanged(): void;
}

const ENOSPC = 28;
/** So long a register is held: another tracer may want one too. */
const LEAST_HOLD_NS = 10_000_000_000n;
const MOST_HOLD_NS = 600_000_000_000n;
/**
 * So many times as long as the kernel made us wait for one at most so far. Few waits are long, and any may be the next: beside a busy server one of twenty took
 * seconds, in which nothing is watched and no ring is read.
 */
const HOLD_TIMES = 1000n;

/** When a register that was taken at a time may go back. @param waitedNs the longest wait for one so far */
export function heldUntil(takenNs: bigint, waitedNs: bigint): bigint {
  const wanted = HOLD_TIMES * waitedNs;
  return takenNs + (wanted < LEAST_HOLD_NS ? LEAST_HOLD_NS : wanted > MOST_HOLD_NS ? MOST_HOLD_NS : wanted);
}

/** A register that was just closed may be counted as taken for a moment. */
const RETRY_PAUSE_MS = 0.2;

function cpuRegister(cpu: number, event: Fd, keeps: boolean): CpuRegister {
  let isNew = true;
  /** The count that stops it is used up. */
  let isSpent = true;
  return {
    cpu,
    event,
    begin(refreshCount) {
      if (isNew) refreshWatchpoint(event, refreshCount);
      else beginWatchpoint(event, isSpent);
      isNew = false;
    },
    stop(hasStopped) {
      // Closed without: one interrupt less.
      if (!keeps) return;
      stopWatchpoint(event);
      isSpent = hasStopped();
    },
  };
}

/**
 * Registers of these CPUs, taken when they are first needed. A register of the same kind, read_write or write, gets another address
 * without a lock; one of another kind is changed only where no more may be taken.
 * @param cpus a list that may change
 * @param keeps false where a register cannot be used twice: it is given back to the kernel after each watch
 * @param most registers on every CPU that may be taken now
 * @param nowNs a steady clock
 */
export function heldRegisters(
  cpus: readonly number[],
  keeps: boolean,
  most: () => number,
  nowNs: () => bigint = monotonicNs,
): HeldRegisters {
  /** The first taken first. */
  const idle: HeldRegister[] = [];
  let count = 0;
  /** Of CPUs, that are being closed. */
  let leaving = 0;
  let orders = 0;
  let changes = 0;
  let longestNs = 0n;

  /** Takes note of a wait for the kernel. */
  function waited(fromNs: bigint, untilNs: bigint): void {
    if (untilNs - fromNs > longestNs) longestNs = untilNs - fromNs;
  }

  function close(register: HeldRegister): void {
    count -= 1;
    for (const { event } of register.perCpu) event[Symbol.dispose]();
  }

  function closeAside(register: HeldRegister): void {
    let left = register.perCpu.length;
    leaving += left;
    for (const { event } of register.perCpu) {
      event.closeAside(() => {
        leaving -= 1;
        left -= 1;
        if (left === 0) count -= 1;
      });
    }
  }

  function closeIdle(): void {
    for (const register of idle.splice(0)) close(register);
  }

  function open({ addr, sizeBytes, kind }: WatchedBytes, mostRetries: number): TakeResult {
    using opened = new DisposableStack();
    const beganNs = nowNs();
    const perCpu: CpuRegister[] = [];
    let retries = 0;
    for (const cpu of cpus) {
      let result = openWatchpoint(addr, sizeBytes, kind, cpu);
      while (!result.ok && result.errno === ENOSPC && retries < mostRetries) {
        retries += 1;
        pause(RETRY_PAUSE_MS);
        result = openWatchpoint(addr, sizeBytes, kind, cpu);
      }
      if (!result.ok) return { ok: false, errno: result.errno, retries };
      perCpu.push(cpuRegister(cpu, opened.use(result.event), keeps));
    }
    opened.move();
    count += 1;
    const takenNs = nowNs();
    waited(beganNs, takenNs);
    const register: HeldRegister = { kind, perCpu, takenNs, order: orders++, changes };
    return { ok: true, register, retries };
  }

  function retarget(register: HeldRegister, { addr, sizeBytes, kind }: WatchedBytes): TakeResult | null {
    const beganNs = nowNs();
    register.kind = kind;
    const hasAll = register.perCpu.every(({ event }) => retargetWatchpoint(event, addr, sizeBytes, kind));
    waited(beganNs, nowNs());
    if (hasAll) return { ok: true, register, retries: 0 };
    close(register);
    return null;
  }

  return {
    get count() {
      return count;
    },
    take(bytes, retries, behind) {
      const mayBe = (one: HeldRegister): boolean =>
        one.changes === changes && (behind === undefined || one.order > behind.order);
      const isFull = count >= most();
      const found =
        idle.find((one) => one.kind === bytes.kind && mayBe(one)) ?? (isFull ? idle.find(mayBe) : undefined);
      if (found !== undefined) {
        idle.splice(idle.indexOf(found), 1);
        const result = retarget(found, bytes);
        if (result !== null) return result;
      } else if (isFull) {
        // All were taken before that one: what is opened now is looked at behind it.
        const first = idle.shift();
        if (first !== undefined) close(first);
      }
      return open(bytes, retries);
    },
    give(register) {
      // Where each watch takes one of its own, the next one may take this at once.
      if (!keeps) {
        close(register);
        return;
      }
      idle.push(register);
      idle.sort((a, b) => a.order - b.order);
    },
    giveBack() {
      const now = nowNs();
      const isOld = (one: HeldRegister): boolean => one.changes !== changes || now >= heldUntil(one.takenNs, longestNs);
      for (const one of idle.filter(isOld)) {
        idle.splice(idle.indexOf(one), 1);
        closeAside(one);
      }
      return leaving > 0;
    },
    cpusChanged() {
      changes += 1;
      closeIdle();
    },
    [Symbol.dispose]: closeIdle,
  };
}

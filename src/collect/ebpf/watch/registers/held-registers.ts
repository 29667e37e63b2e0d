/** Debug registers that stay taken from one watch to the next: to take one, or to give it back, the kernel makes us wait. */
import { type Fd, monotonicNs } from "../../../../kernel/libc.ts";
import {
  beginWatchpoint,
  refreshWatchpoint,
  retargetWatchpoint,
  stopWatchpoint,
} from "../../../../kernel/watchpoint.ts";
import { openRegister, type WatchedBytes } from "./open-register.ts";
import { type RegisterThread, registerThread } from "./register-thread.ts";

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
   * Whether watches can have their registers at once, or after a wait that is short on this machine. Where waits are long, what they lack is
   * taken by another thread, in place of one that no watch has where no more may be taken: ask again at a later look.
   * @param watches kinds of each, in the order in which the kernel must look at them
   */
  isReady(watches: readonly (readonly number[])[]): boolean;
  /**
   * Closes those that no watch has, and gives the others back after their watch: of CPUs that were added they have
   * none, and what they have of a CPU that was off line is dead.
   */
  cpusChanged(): void;
}

/** So long a register is held: another tracer may want one too. */
const LEAST_HOLD_NS = 10_000_000_000n;
const MOST_HOLD_NS = 600_000_000_000n;
/**
 * So many times as long as the kernel made us wait for one at most so far. Few waits are long, and any may be the next: beside a busy server one of twenty took
 * seconds, in which nothing is watched and no ring is read.
 */
const HOLD_TIMES = 1000n;

/** A kernel that made us wait so long is not waited for where another thread can do it. */
const LONG_NS = 50_000_000n;

/** When a register that was taken at a time may go back. @param waitedNs the longest wait for one so far */
export function heldUntil(takenNs: bigint, waitedNs: bigint): bigint {
  const wanted = HOLD_TIMES * waitedNs;
  return takenNs + (wanted < LEAST_HOLD_NS ? LEAST_HOLD_NS : wanted > MOST_HOLD_NS ? MOST_HOLD_NS : wanted);
}

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
 * @param thread takes registers where the kernel makes us wait long
 */
export function heldRegisters(
  cpus: readonly number[],
  keeps: boolean,
  most: () => number,
  nowNs: () => bigint = monotonicNs,
  thread: RegisterThread = registerThread(),
): HeldRegisters {
  /** The first taken first. */
  const idle: HeldRegister[] = [];
  let count = 0;
  /** Of CPUs, that are being closed. */
  let leaving = 0;
  /** One is being taken by the other thread; one could not be taken there. */
  let isComing = false;
  let isRefused = false;
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

  /** Gives one back that no watch has. */
  function letGo(one: HeldRegister): void {
    idle.splice(idle.indexOf(one), 1);
    closeAside(one);
  }

  function keep(register: HeldRegister): void {
    idle.push(register);
    idle.sort((a, b) => a.order - b.order);
  }

  function takeAside(kind: number): void {
    const [beganNs, asked, since] = [nowNs(), [...cpus], changes];
    count += 1;
    isComing = true;
    thread.order(kind, asked, (events) => {
      isComing = false;
      isRefused = events === null;
      if (events === null) {
        count -= 1;
        return;
      }
      const register = newRegister(kind, events, asked, since);
      waited(beganNs, register.takenNs);
      keep(register);
    });
  }

  /**
   * The first kind that no register is there for, with those that are left for it to come in their place; null where there is one for each.
   * @param watches as `isReady` gets them
   */
  function missing(watches: readonly (readonly number[])[]): { kind: number; left: readonly HeldRegister[] } | null {
    const left = idle.filter((one) => one.changes === changes);
    for (const kinds of watches) {
      let behind = -1;
      for (const kind of kinds) {
        const found = left.find((one) => one.kind === kind && one.order > behind);
        if (found === undefined) return { kind, left };
        left.splice(left.indexOf(found), 1);
        behind = found.order;
      }
    }
    return null;
  }

  function closeIdle(): void {
    for (const register of idle.splice(0)) close(register);
  }

  /** @param events of the CPUs at `since` changes of these */
  function newRegister(kind: number, events: readonly Fd[], on: readonly number[], since: number): HeldRegister {
    const perCpu = events.map((event, i) => cpuRegister(on[i] as number, event, keeps));
    return { kind, perCpu, takenNs: nowNs(), order: orders++, changes: since };
  }

  function open(bytes: WatchedBytes, mostRetries: number): TakeResult {
    const beganNs = nowNs();
    const result = openRegister(bytes, cpus, mostRetries);
    if (!result.ok) return result;
    count += 1;
    const register = newRegister(bytes.kind, result.events, cpus, changes);
    waited(beganNs, register.takenNs);
    return { ok: true, register, retries: result.retries };
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
      keep(register);
    },
    giveBack() {
      const now = nowNs();
      const isOld = (one: HeldRegister): boolean => one.changes !== changes || now >= heldUntil(one.takenNs, longestNs);
      for (const one of idle.filter(isOld)) letGo(one);
      return leaving > 0;
    },
    isReady(watches) {
      if (!keeps || longestNs < LONG_NS) return true;
      if (isComing || leaving > 0) return false;
      const lack = missing(watches);
      // Whoever arms finds out that there is none, and takes note of it.
      if (lack === null || isRefused) {
        isRefused = false;
        return true;
      }
      const [first] = lack.left;
      if (count < most()) takeAside(lack.kind);
      else if (first === undefined) return true;
      else letGo(first);
      return false;
    },
    cpusChanged() {
      changes += 1;
      closeIdle();
    },
    [Symbol.dispose]() {
      closeIdle();
      thread[Symbol.dispose]();
    },
  };
}

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { armHeld, beginTogether, type WatchSpec } from "../../../../src/collect/ebpf/watch/arm.ts";
import type { Calibration } from "../../../../src/collect/ebpf/watch/calibrate.ts";
import { probeRegisters } from "../../../../src/collect/ebpf/watch/free-registers.ts";
import { type HeldRegisters, heldRegisters } from "../../../../src/collect/ebpf/watch/registers/held-registers.ts";
import { openWatchMachine } from "../../../../src/collect/ebpf/watch/watch-machine.ts";
import { onlineCpus } from "../../../../src/kernel/cpus.ts";
import { WATCHPOINT } from "../../../../src/kernel/watchpoint.ts";
import { registersFree } from "../../../fixtures/registers-free.ts";
import { type Bench, openBench, type Program, startProgram } from "./bench.ts";

const CPUS = onlineCpus();
const MOST = 4;
let held: HeldRegisters;
let bench: Bench;
let program: Program;
setDefaultTimeout(120_000);
beforeAll(async () => {
  program = await startProgram();
});
beforeEach(async () => {
  held?.[Symbol.dispose]();
  bench?.[Symbol.dispose]();
  await registersFree();
  held = heldRegisters(CPUS, true, () => MOST);
  bench = await openBench({}, held);
});
afterAll(async () => {
  held[Symbol.dispose]();
  bench[Symbol.dispose]();
  await program[Symbol.asyncDispose]();
});

/** What a run of this machine finds out before it begins. */
async function calibrated(): Promise<Calibration> {
  await registersFree();
  const wishes = { affinityCpus: CPUS, registers: MOST, wanted: MOST, targetsFd: undefined, looks: undefined };
  using machine = await openWatchMachine(wishes);
  return machine.calibration;
}
const calibration = await calibrated();
/** Another thread does it. */
async function givenBack(registers: HeldRegisters): Promise<void> {
  expect(registers.giveBack()).toBe(true);
  while (registers.giveBack()) await Bun.sleep(1);
}
/** A clock by which the kernel makes us wait 50 ms for whatever it is asked. */
function waitingLong(): () => bigint {
  let now_ns = 0n;
  return () => (now_ns += 50_000_000n);
}
if (calibration.countsEveryTrap) process.stderr.write("skipped: registers cannot be held before Linux 6.10\n");

/** How often this thread gave up its CPU to wait, as it does for a lock: not how often a rival took it. */
const sleeps = (): number =>
  Number(/^voluntary_ctxt_switches:\t(\d+)$/m.exec(readFileSync("/proc/thread-self/status", "latin1"))?.[1]);

describe.if(!calibration.countsEveryTrap)("a register that is held", () => {
  test("is what a run uses", () => {
    expect(calibration).toMatchObject({ measured: true, keepsRegisters: true });
  });
  test("sees every access of watch after watch, of each mode and at each address, and no other", async () => {
    for (let turn = 0; turn < 12; turn++) {
      for (const mode of ["rw", "w", "pair"] as const) {
        const { seen, state } = await bench.watch({ pid: program.pid, addr: program.word, mode, trapLimit: 1000 }, () =>
          program.tell("inc", 20),
        );
        expect([mode, seen.accesses.length, state.hits]).toEqual([mode, 20, 20]);
        const beside = await bench.watch({ pid: program.pid, addr: program.bytes, mode, trapLimit: 8 }, () =>
          program.tell("inc", 20),
        );
        expect([mode, beside.seen.traps, beside.state.hits]).toEqual([mode, 0, 0]);
      }
    }
    // One of each kind, and the twin of a pair, which must have been taken behind that of stores.
    expect(held.count).toBe(3);
  });
  test("goes back to the kernel after the watch within which CPUs went and came: what it had there may be dead", async () => {
    const bytes = { addr: program.word, sizeBytes: 8, kind: WATCHPOINT.read_write };
    const [first, second] = [held.take(bytes, 50), held.take(bytes, 50)];
    if (!first.ok || !second.ok) throw new Error("no register");
    held.give(first.register);
    expect(held.count).toBe(2);
    held.cpusChanged();
    expect(held.count).toBe(1);
    held.give(second.register);
    const third = held.take(bytes, 50);
    if (!third.ok) throw new Error("no register");
    expect(third.register).not.toBe(second.register);
    await givenBack(held);
    expect(held.count).toBe(1);
    held.give(third.register);
    expect(held.giveBack()).toBe(false);
  });
  test("stops itself at each limit, as often as it is let go, whether it stopped the time before or not", async () => {
    const below = Array.from({ length: 6 }, () => [8, 3] as const);
    for (let turn = 0; turn < 6; turn++) {
      for (const mode of ["rw", "w", "pair"] as const) {
        // Whatever is left of a watch that did not stop itself, the next one stops at its own limit.
        for (const [limit, count] of [[8, 200], ...below, [1, 200]] as const) {
          const watched = { pid: program.pid, addr: program.word, mode, trapLimit: limit };
          const { state, traps } = await bench.watch(watched, () => program.tell("inc", count));
          expect([mode, limit, traps.filter((trap) => trap.role !== 1).length]).toEqual([
            mode,
            limit,
            Math.min(limit, count),
          ]);
          // A thread that changes its CPU meets the register of the other one.
          expect(state.hits).toBeLessThan(Math.min(limit, count) + CPUS.length);
        }
      }
    }
  });
  test("is looked at in its place: of a pair that of stores sees the last store too, whichever was taken first", async () => {
    const watched = { pid: program.pid, addr: program.word, trapLimit: 8 };
    for (let turn = 0; turn < 8; turn++) {
      // Registers of both kinds are taken before, in either order, and changed in their kind where all are.
      for (const mode of turn % 2 === 0 ? (["rw", "w", "pair"] as const) : (["w", "pair", "rw", "pair"] as const)) {
        const { seen } = await bench.watch({ ...watched, mode }, () => program.tell("inc", 200));
        expect([mode, turn, new Set(seen.accesses.map(({ op }) => op))]).toEqual([mode, turn, new Set(["load_store"])]);
      }
    }
  });
  test("is told from one that others stopped: traps of another process stop it each time anew", async () => {
    for (let turn = 0; turn < 4; turn++) {
      const watched = { pid: program.pid, addr: program.word, mode: "rw", trapLimit: 1000 } as const;
      const { state } = await bench.watch(watched, () => program.tell("fork", 500));
      expect(state.foreign).toBeGreaterThanOrEqual(8);
      expect(state.foreign).toBeLessThan(8 + CPUS.length);
      expect((await bench.watch(watched, () => program.tell("inc", 20))).state.hits).toBe(20);
    }
  });
  test("is one of as many as are allowed, whatever kinds are asked for, and given back at the end", () => {
    const bytes = { addr: 0x1000n, sizeBytes: 8 };
    const taken = [WATCHPOINT.write, WATCHPOINT.read_write, WATCHPOINT.write].map((kind) =>
      held.take({ ...bytes, kind }, 0),
    );
    expect(held.count).toBe(3);
    for (const result of taken) if (result.ok) held.give(result.register);
    for (let turn = 0; turn < 3; turn++) {
      for (const kind of [WATCHPOINT.read_write, WATCHPOINT.write]) {
        const four = Array.from({ length: MOST }, () => held.take({ ...bytes, kind }, 0));
        expect(four.every(({ ok }) => ok)).toBe(true);
        expect(held.count).toBe(MOST);
        expect(probeRegisters(CPUS, MOST).count).toBe(0);
        for (const result of four) if (result.ok) held.give(result.register);
      }
    }
    held[Symbol.dispose]();
    expect(held.count).toBe(0);
    expect(probeRegisters(CPUS, MOST).count).toBe(MOST);
  });
  test("goes back to the kernel some time after it was taken, when its watch is over, so that another tracer finds one", async () => {
    const clock = { now_ns: 0n };
    using timed = heldRegisters(
      CPUS,
      true,
      () => MOST,
      () => clock.now_ns,
    );
    const wanted = { addr: program.word, sizeBytes: 8, kind: WATCHPOINT.write };
    const takeNow = () => {
      const result = timed.take(wanted, 0);
      if (!result.ok) throw new Error(`no register: errno ${result.errno}`);
      return result.register;
    };
    timed.give(takeNow());
    clock.now_ns += 9_999_999_999n;
    timed.give(takeNow());
    expect([timed.giveBack(), timed.count]).toEqual([false, 1]);
    const register = takeNow();
    clock.now_ns += 1n;
    expect([timed.giveBack(), timed.count]).toEqual([false, 1]);
    timed.give(register);
    await givenBack(timed);
    expect(timed.count).toBe(0);
    expect(probeRegisters(CPUS, MOST).count).toBe(MOST);
  });
  test("is held longer where the kernel made us wait for another one", () => {
    const clock = { now_ns: 0n };
    let waits_ns = 0n;
    const bytes = { addr: program.word, sizeBytes: 8, kind: WATCHPOINT.write };
    using timed = heldRegisters(
      CPUS,
      true,
      () => MOST,
      () => (clock.now_ns += waits_ns),
    );
    const first = timed.take(bytes, 0);
    waits_ns = 100_000_000n;
    const second = timed.take(bytes, 0);
    waits_ns = 0n;
    if (!first.ok || !second.ok) throw new Error("no register");
    clock.now_ns = 99_000_000_000n;
    timed.give(first.register);
    timed.give(second.register);
    expect([timed.giveBack(), timed.count]).toEqual([false, 2]);
  });
  test("is taken by another thread where the kernel makes us wait long, in place of one of another kind", async () => {
    const clock = { now_ns: 0n };
    let waits_ns = 0n;
    using timed = heldRegisters(
      CPUS,
      true,
      () => MOST,
      () => (clock.now_ns += waits_ns),
    );
    const [w, rw] = [WATCHPOINT.write, WATCHPOINT.read_write];
    const takeAll = (kinds: readonly number[]) => {
      const results = kinds.map((kind) => timed.take({ addr: program.word, sizeBytes: 8, kind }, 0));
      const registers = results.map((result) => {
        if (!result.ok) throw new Error(`no register: errno ${result.errno}`);
        return result.register;
      });
      for (const register of registers) timed.give(register);
      return registers.map(({ order }) => order);
    };
    expect(takeAll([rw, w, rw, rw])).toEqual([0, 1, 2, 3]);
    // Nobody was waited for so far: to change a kind takes as long as to take another.
    expect(timed.isReady([[w], [w]])).toBe(true);
    waits_ns = 50_000_000n;
    expect(takeAll([w, w])).toEqual([1, 0]);
    waits_ns = 0n;
    expect(timed.isReady([[w], [w]])).toBe(true);
    // Of a pair that of stores is the first.
    expect(
      timed.isReady([
        [w, rw],
        [w, rw],
      ]),
    ).toBe(true);
    expect(timed.isReady([[w], [w], [w]])).toBe(false);
    await givenBack(timed);
    expect(timed.count).toBe(3);
    expect(timed.isReady([[w], [w], [w]])).toBe(false);
    while (!timed.isReady([[w], [w], [w]])) await Bun.sleep(1);
    expect([...takeAll([w, w, w]), timed.count]).toEqual([0, 1, 4, 4]);
    // Behind the last one there is none.
    for (let looks = 0; !timed.isReady([[w], [w], [w, rw]]); looks++) {
      expect(looks).toBeLessThan(10_000);
      timed.giveBack();
      await Bun.sleep(1);
    }
    expect([...takeAll([w, w, w, rw]), timed.count]).toEqual([0, 1, 4, 5, 4]);
  });
  test("that another thread took sees every access, as one of our own does", async () => {
    using timed = heldRegisters(CPUS, true, () => MOST, waitingLong());
    using other = await openBench({}, timed);
    const { write, read_write } = WATCHPOINT;
    const first = timed.take({ addr: 0x1000n, sizeBytes: 8, kind: write }, 0);
    if (!first.ok) throw new Error("no register");
    while (!timed.isReady([[write, read_write]])) await Bun.sleep(1);
    timed.give(first.register);
    expect([first.register.order, timed.count]).toEqual([0, 3]);
    for (let turn = 0; turn < 4; turn++) {
      for (const mode of ["rw", "pair", "w"] as const) {
        const watched = { pid: program.pid, addr: program.word, mode, trapLimit: turn % 2 === 0 ? 1000 : 8 };
        const { seen, state } = await other.watch(watched, () => program.tell("inc", 20));
        expect(new Set(seen.accesses.map(({ op }) => op))).toEqual(new Set(["load_store"]));
        if (turn % 2 === 0) expect([mode, seen.accesses.length, state.hits]).toEqual([mode, 20, 20]);
      }
    }
  });
  test("that no thread can take is asked for by us, who take note that there is none", async () => {
    const bytes = { addr: 0x1000n, sizeBytes: 8, kind: WATCHPOINT.write };
    using rivals = heldRegisters(CPUS, true, () => MOST);
    using timed = heldRegisters(CPUS, true, () => MOST, waitingLong());
    const first = timed.take(bytes, 0);
    if (!first.ok) throw new Error("no register");
    const taken = Array.from({ length: MOST - 1 }, () => rivals.take(bytes, 0));
    for (const result of taken) {
      if (!result.ok) throw new Error("no register");
      rivals.give(result.register);
    }
    expect(timed.isReady([[WATCHPOINT.write]])).toBe(false);
    while (!timed.isReady([[WATCHPOINT.write]])) await Bun.sleep(1);
    expect([timed.count, timed.take(bytes, 0).ok]).toEqual([1, false]);
    timed.give(first.register);
  });
  test("that comes when watching is over goes back at once", async () => {
    const timed = heldRegisters(CPUS, true, () => MOST, waitingLong());
    const first = timed.take({ addr: 0x1000n, sizeBytes: 8, kind: WATCHPOINT.write }, 0);
    if (!first.ok) throw new Error("no register");
    timed.give(first.register);
    expect(timed.isReady([[WATCHPOINT.read_write]])).toBe(false);
    timed[Symbol.dispose]();
    await registersFree();
    expect(probeRegisters(CPUS, MOST).count).toBe(MOST);
  });
  test("is not waited for: beside programs that take every CPU a watch hardly ever sleeps in the kernel, as one does that takes a register of its own", async () => {
    const rivals = CPUS.map(() => Bun.spawn(["sh", "-c", "while :; do :; done"]));
    try {
      const once = heldRegisters(CPUS, false, () => MOST);
      const slept = { held: 0, once: 0 };
      for (let turn = 0; turn < 60; turn++) {
        for (const which of turn % 2 === 0 ? (["held", "once"] as const) : (["once", "held"] as const)) {
          const spec: WatchSpec = {
            slot: 1,
            generation: 2 * turn + (which === "held" ? 1 : 2),
            pid: program.pid,
            addr: program.word,
            sizeBytes: 8,
            mode: "rw",
            trapLimit: 8,
            refreshCount: 1,
          };
          const place = { programFd: bench.programFd, slots: bench.slots, held: which === "held" ? held : once };
          const begin = sleeps();
          const result = armHeld(place, spec);
          if (result.ok) beginTogether([result.watch], 0);
          slept[which] += sleeps() - begin;
          await Bun.sleep(15);
          if (!result.ok) throw new Error(`no register: errno ${result.errno}`);
          const end = sleeps();
          result.watch.disarm();
          slept[which] += sleeps() - end;
          await Bun.sleep(15);
        }
      }
      expect(slept.once).toBeGreaterThan(10);
      expect(slept.held / slept.once).toBeLessThan(0.2);
    } finally {
      for (const rival of rivals) rival.kill("SIGKILL");
      await Promise.all(rivals.map((rival) => rival.exited));
    }
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { openLifecycle } from "../../../../src/collect/ebpf/lifecycle/lifecycle.ts";
import { armHeld } from "../../../../src/collect/ebpf/watch/arm.ts";
import { listTracers, probeRegisters } from "../../../../src/collect/ebpf/watch/free-registers.ts";
import { onlineCpus } from "../../../../src/kernel/cpus.ts";
import { openWatchpoint, WATCHPOINT } from "../../../../src/kernel/watchpoint.ts";
import type { WatchMode } from "../../../../src/schema/words.ts";
import { createProcessTree } from "../../../../src/target/process-tree.ts";
import { registersFree } from "../../../fixtures/registers-free.ts";
import { type Bench, newRegisters, openBench, type Program, startProgram } from "./bench.ts";

const CPUS = onlineCpus();
let bench: Bench;
let program: Program;
beforeAll(async () => {
  bench = await openBench();
  program = await startProgram();
});
setDefaultTimeout(120_000);
beforeEach(registersFree);
afterAll(async () => {
  bench[Symbol.dispose]();
  await program[Symbol.asyncDispose]();
});

function run(command: string, count: number, mode: WatchMode = "rw", addr = program.word, trapLimit = 100_000) {
  return bench.watch({ pid: program.pid, addr, mode, trapLimit }, () => program.tell(command, count));
}
function opsOf(accesses: readonly { op: string; evidence: string }[]): Record<string, number> {
  const ops: Record<string, number> = {};
  for (const { op, evidence } of accesses) ops[`${op} ${evidence}`] = (ops[`${op} ${evidence}`] ?? 0) + 1;
  return ops;
}

describe("a watch on one word", () => {
  test.each([
    ["load", "load decoded"],
    ["store", "store decoded"],
    ["inc", "load_store decoded"],
  ])("sees every %s, none twice", async (command, op) => {
    const { seen, state } = await run(command, 200);
    expect(opsOf(seen.accesses)).toEqual({ [op]: 200 });
    expect(state.hits).toBe(200);
    expect(
      seen.accesses.every(({ trap }, i) => i === 0 || trap.timeNs > (seen.accesses[i - 1]?.trap.timeNs ?? 0n)),
    ).toBe(true);
  });
  test.each([
    ["load", "load pair", 0],
    ["store", "store pair", 200],
    ["inc", "load_store pair", 200],
  ])("by a pair of registers knows every %s without decoding, and decoding agrees", async (command, op, twins) => {
    const { seen } = await run(command, 200, "pair");
    expect(opsOf(seen.accesses)).toEqual({ [op]: 200 });
    expect(seen).toMatchObject({ compared: 200, agreed: 200, unpaired: 0, twins });
  });
  test("for stores only sees no load", async () => {
    expect((await run("load", 200, "w")).seen.traps).toBe(0);
    expect(opsOf((await run("store", 200, "w")).seen.accesses)).toEqual({ "store decoded": 200 });
  });
  test("holds one register of every CPU, two for a pair", async () => {
    expect((await run("load", 1)).registers).toBe(CPUS.length);
    expect((await run("load", 1, "pair")).registers).toBe(2 * CPUS.length);
  });
  test("makes one access of the many traps of a string copy, and knows its direction", async () => {
    const from = await run("copy_from", 20, "rw", program.bytes);
    expect(opsOf(from.seen.accesses)).toEqual({ "load registers": 20 });
    const to = await run("copy_to", 20, "rw", program.bytes);
    expect(opsOf(to.seen.accesses)).toEqual({ "store registers": 20 });
    for (const { seen } of [from, to]) expect(seen.traps).toBe(seen.accesses.length + seen.collapsed);
  });
  test("makes one access of a string copy in whose middle another takes the CPU", async () => {
    const rivals = CPUS.map(() => Bun.spawn(["sh", "-c", "while :; do :; done"]));
    try {
      for (let turn = 0; turn < 5; turn++) {
        const from = await run("copy_from", 100, "rw", program.bytes);
        expect(opsOf(from.seen.accesses)).toEqual({ "load registers": 100 });
        const to = await run("copy_to", 100, "rw", program.bytes);
        expect(opsOf(to.seen.accesses)).toEqual({ "store registers": 100 });
      }
    } finally {
      for (const rival of rivals) rival.kill("SIGKILL");
      await Promise.all(rivals.map((rival) => rival.exited));
    }
  });
  test("sees what the kernel does on the program's behalf, and marks it", async () => {
    const into = await run("read", 10);
    expect(opsOf(into.seen.accesses)).toEqual({ "store registers": 10 });
    const from = await run("write", 10);
    expect(opsOf(from.seen.accesses)).toEqual({ "load registers": 10 });
    for (const { seen, state } of [into, from]) {
      expect(seen.accesses.every(({ trap }) => trap.inKernel)).toBe(true);
      expect(seen.kernelTraps).toBe(seen.traps);
      expect(state.kernel).toBe(seen.traps);
      expect(state).toMatchObject({ hits: 10, continued: seen.traps - 10 });
    }
  });
});

describe("the end of a watch", () => {
  test.each([1, 8, 64])("comes at trap %d, in the kernel, for reads, writes and pairs alike", async (limit) => {
    for (const mode of ["rw", "w", "pair"] as const) {
      const { state, traps } = await run("inc", 500, mode, program.word, limit);
      const accesses = traps.filter((trap) => trap.role !== 1);
      expect(accesses.length).toBe(limit);
      expect(state.hits).toBeGreaterThanOrEqual(limit);
      expect(state.hits).toBeLessThan(limit + CPUS.length);
    }
  });
  test("is shared by threads on several CPUs, and each access is seen once before it", async () => {
    const whole = await run("threads", 300);
    expect(opsOf(whole.seen.accesses)).toEqual({ "load_store decoded": 600 });
    expect(new Set(whole.traps.map((trap) => trap.tid)).size).toBe(2);
    for (const mode of ["rw", "pair"] as const) {
      const { seen, state } = await run("threads", 20_000, mode, program.word, 8);
      expect(opsOf(seen.accesses)).toEqual({ [mode === "pair" ? "load_store pair" : "load_store decoded"]: 8 });
      expect(state.hits).toBeLessThan(8 + CPUS.length);
    }
  });
  test("counts a string instruction once, however many traps it makes", async () => {
    for (const command of ["copy_from", "copy_to"]) {
      for (const mode of ["rw", "pair"] as const) {
        const { seen, state } = await run(command, 20, mode, program.bytes, 8);
        const op = command === "copy_from" ? "load" : "store";
        expect(seen.accesses.map((access) => access.op)).toEqual(new Array(8).fill(op));
        expect(seen.traps).toBe(state.continued + 8);
        expect(seen.agreed).toBe(seen.compared);
      }
    }
  });
  test("comes after 8 traps of another process at the same address, and none of them is recorded", async () => {
    const { seen, state } = await run("fork", 500);
    expect(seen.traps).toBe(0);
    expect(state.hits).toBe(0);
    expect(state.foreign).toBeGreaterThanOrEqual(8);
    expect(state.foreign).toBeLessThan(8 + CPUS.length);
    expect(state.foreignStopNs).toBeGreaterThan(0n);
  });
  test("does not come by a child that lives in the memory of the process: its accesses are the process's", async () => {
    const tree = createProcessTree();
    using lifecycle = await openLifecycle(null, tree);
    lifecycle.addProcess(program.pid);
    using following = await openBench({ targets: lifecycle.targetsFd });
    const watched = { pid: program.pid, addr: program.word, mode: "rw", trapLimit: 100_000 } as const;
    const { seen, state } = await following.watch(watched, () => program.tell("vfork", 200));
    expect(opsOf(seen.accesses)).toEqual({ "load_store decoded": 200 });
    expect([state.hits, state.foreign]).toEqual([200, 0]);
    // What the kernel made a copy for is foreign still.
    expect((await following.watch(watched, () => program.tell("fork", 500))).state.hits).toBe(0);
  });
});

describe("registers", () => {
  test("that another holds are missing from the count, and a watch that finds none says so", () => {
    using held = new DisposableStack();
    const free = probeRegisters(CPUS, 4);
    expect(free.count).toBe(4);
    expect(free.refusedBy).toBeNull();
    const cpu = CPUS[0] ?? 0;
    for (let i = 0; i < 4; i++) {
      const result = openWatchpoint(0x1000n, 8, WATCHPOINT.write, cpu);
      if (!result.ok) throw new Error(`errno ${result.errno}`);
      held.use(result.event);
      expect(probeRegisters(CPUS, 4).perCpu.get(cpu)).toBe(3 - i);
    }
    const spec = { slot: 5, generation: 9999, pid: 1, addr: 0x1000n, sizeBytes: 8, mode: "rw" as const };
    const result = armHeld(
      { programFd: -1, slots: bench.slots, held: newRegisters() },
      { ...spec, trapLimit: 8, refreshCount: 1 },
    );
    expect(result).toEqual({ ok: false, errno: 28, retries: 50 });
    held.dispose();
    expect(probeRegisters(CPUS, 4).count).toBe(4);
  });
  test("are all free again after every watch", () => {
    expect(probeRegisters(CPUS, 16).count).toBe(4);
  });
  test("name no tracer where nobody traces", () => {
    expect(listTracers([process.pid])).toEqual([]);
  });
});

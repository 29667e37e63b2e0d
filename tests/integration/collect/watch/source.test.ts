import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { DrawRegion } from "../../../../src/collect/ebpf/watch/draw.ts";
import { probeRegisters } from "../../../../src/collect/ebpf/watch/free-registers.ts";
import { treeCpusBeside } from "../../../../src/collect/ebpf/watch/tree-cpus.ts";
import { startWatch, type WatchOptions, type WatchSource } from "../../../../src/collect/ebpf/watch/watch.ts";
import type { Batch } from "../../../../src/columnar/batch.ts";
import { bindProcess } from "../../../../src/kernel/affinity.ts";
import { onlineCpus } from "../../../../src/kernel/cpus.ts";
import { monotonicNs } from "../../../../src/kernel/libc.ts";
import { openWatchpoint, WATCHPOINT } from "../../../../src/kernel/watchpoint.ts";
import { balances } from "../../../../src/schema/ledger.ts";
import { registersFree } from "../../../fixtures/registers-free.ts";
import { waitUntil } from "../../../fixtures/wait-until.ts";
import { type Program, startProgram } from "./bench.ts";

const CPUS = onlineCpus();
let program: Program;
beforeAll(async () => {
  program = await startProgram();
});
setDefaultTimeout(120_000);
beforeEach(registersFree);
afterAll(async () => {
  await program[Symbol.asyncDispose]();
});

function wordOf(of: Program): DrawRegion[] {
  const region_type = "unknown";
  return [{ pid: of.pid, addr: of.word, size_bytes: 8, stratum: "unknown/anon", region_type, tensor: null }];
}
function start(regions: readonly DrawRegion[], options: Partial<WatchOptions> = {}): Promise<WatchSource> {
  return startWatch({
    regions: () => regions,
    tokenPeriodNs: () => null,
    rowsAhead: () => [],
    budgetPct: 1,
    registers: 4,
    seed: 1,
    affinityCpus: CPUS,
    ...options,
  });
}
async function pollUntil(source: WatchSource, done: () => boolean): Promise<Batch[]> {
  const batches: Batch[] = [];
  const polled = (): boolean => {
    source.poll(monotonicNs());
    batches.push(...source.batches());
    source.arm(monotonicNs());
    return done();
  };
  expect(await waitUntil(polled)).toBe(true);
  return batches;
}
function pollFor(source: WatchSource, ms: number): Promise<Batch[]> {
  const end = monotonicNs() + BigInt(ms) * 1_000_000n;
  return pollUntil(source, () => monotonicNs() >= end);
}
/** True while some watch is armed. */
const watching = (): boolean => probeRegisters(CPUS, 4).count < 4;
function valuesOf(batches: readonly Batch[], table: string, name: string): unknown[] {
  return batches
    .filter((batch) => batch.table === table)
    .flatMap((batch): unknown[] => {
      const column = batch.columns[name];
      if (!column) return [];
      return "codes" in column ? [...column.codes].map((code) => column.values[code]) : [...column.data];
    });
}
function sumOf(values: readonly unknown[]): number {
  return values.reduce<number>((sum, value) => sum + Number(value), 0);
}

describe("the budget", () => {
  test("holds while the only address that can be drawn is written millions of times a second", async () => {
    await using hot = await startProgram();
    using source = await start(wordOf(hot));
    hot.start("inc", 1_000_000_000);
    const batches = await pollFor(source, 2000);
    const { summary } = source.stop();
    expect(valuesOf(batches, "watch", "ended_by").every((by) => by === "trap_limit" || by === "dwell")).toBe(true);
    expect(summary.counts.armings).toBeGreaterThan(10);
    // One bucket and the watches in flight on top of 1 %: 4 watches of 8 traps, and what trapped before they were armed.
    expect(summary.budget.spent_pct).toBeLessThan(1.2);
    const perArming = summary.counts.traps / summary.counts.armings;
    expect(perArming).toBeLessThan(8 + 64 + CPUS.length);
  });
  test("holds while children that share the address come and go", async () => {
    await using storm = await startProgram();
    using source = await start(wordOf(storm));
    for (let i = 0; i < 400; i++) storm.start("fork", 2000);
    const batches = await pollFor(source, 1500);
    const { summary } = source.stop();
    expect(summary.counts.foreign_traps).toBeGreaterThan(0);
    expect(summary.counts.foreign_traps).toBeLessThanOrEqual((8 + CPUS.length) * summary.counts.armings);
    expect(sumOf(valuesOf(batches, "watch", "n_hits"))).toBe(0);
    expect(summary.budget.spent_pct).toBeLessThan(1.2);
  });
});

test.skipIf(CPUS.length < 2)("a program that goes to another CPU is watched there, too", async () => {
  await using mover = await startProgram();
  const [first = 0, second = 1] = CPUS;
  bindProcess(mover.pid, [first]);
  using source = await start(wordOf(mover), {
    affinityCpus: [first],
    cpusBeside: (cpus) => treeCpusBeside(mover.pid, cpus),
  });
  bindProcess(mover.pid, [second]);
  mover.start("inc", 1_000_000_000);
  const isOnBoth = () => source.summary().cpus === 2;
  const before = await pollUntil(source, isOnBoth);
  expect(valuesOf(before, "watch", "end_ns")).toEqual([]);
  const batches = await pollFor(source, 1000);
  const { summary } = source.stop();
  expect(summary.counts.elsewhere).toBeGreaterThan(0);
  expect(new Set(valuesOf(batches, "access", "cpu"))).toEqual(new Set([second]));
});

describe("the rows", () => {
  test("tell of every watch how likely it was, how long it looked and how it ended", async () => {
    using source = await start(wordOf(program), { budgetPct: 5 });
    await pollUntil(source, watching);
    let worked = false;
    const work = (async () => {
      for (let i = 0; i < 60; i++) {
        await program.tell("load", 1);
        await Bun.sleep(10);
      }
      worked = true;
    })();
    const batches = await pollUntil(source, () => worked);
    await work;
    const { ledger, summary, batches: last } = source.stop();
    batches.push(...last);
    const begin = valuesOf(batches, "watch", "timestamp_ns") as bigint[];
    const end = valuesOf(batches, "watch", "end_ns") as bigint[];
    expect(begin.length).toBe(summary.counts.finished);
    expect(end.every((ns, i) => ns >= (begin[i] ?? 0n))).toBe(true);
    expect(valuesOf(batches, "watch", "inclusion_probability")).toEqual(begin.map(() => 1));
    expect(valuesOf(batches, "watch", "stratum_bytes")).toEqual(begin.map(() => 8n));
    const accesses = valuesOf(batches, "access", "op_type");
    expect(accesses.length).toBeGreaterThan(30);
    expect(accesses.every((op) => op === "load")).toBe(true);
    expect(accesses.length).toBe(summary.counts.access_rows);
    expect(sumOf(valuesOf(batches, "watch", "n_hits"))).toBe(accesses.length);
    expect(valuesOf(batches, "watch", "ended_by")).toContain("end");
    expect(ledger.filter((row) => !balances(row))).toEqual([]);
  });
  test("of a watch end when its bytes are unmapped, though they are touched after that", async () => {
    using source = await start(wordOf(program), { budgetPct: 5 });
    await pollUntil(source, watching);
    const goneNs = monotonicNs();
    source.onUnmap(program.pid, program.word - 4096n, 8192n, goneNs);
    await program.tell("store", 3);
    const batches = [...(await pollFor(source, 10)), ...source.stop().batches];
    const ends = valuesOf(batches, "watch", "end_ns") as bigint[];
    expect(valuesOf(batches, "watch", "ended_by")).toContain("unmap");
    expect(ends).toContain(goneNs);
    const rows = valuesOf(batches, "access", "timestamp_ns") as bigint[];
    expect(rows.filter((ns) => ns <= goneNs)).toEqual([]);
  });
});

describe("registers that a debugger takes", () => {
  test("are done without, and used again once they are free", async () => {
    using taken = new DisposableStack();
    for (let i = 0; i < 4; i++) {
      const result = openWatchpoint(0x1000n, 8, WATCHPOINT.write, CPUS[0] ?? 0);
      if (result.ok) taken.use(result.event);
    }
    using source = await start(wordOf(program), { budgetPct: 5 });
    await pollFor(source, 50);
    taken.dispose();
    await pollUntil(source, watching);
    const { summary } = source.stop();
    expect(summary.registers).toMatchObject({ wanted: 4, free_at_start: 0 });
    expect(summary.counts.armings).toBeGreaterThan(0);
  });
  test("are left to others beyond the number asked for", async () => {
    using source = await start(wordOf(program), { registers: 2, budgetPct: 5 });
    for (let i = 0; i < 20; i++) {
      await pollFor(source, 10);
      expect(probeRegisters(CPUS, 4).count).toBeGreaterThanOrEqual(2);
    }
  });
});

describe("nothing is left", () => {
  test("after stop", async () => {
    const source = await start(wordOf(program));
    await pollUntil(source, watching);
    source.stop();
    expect(probeRegisters(CPUS, 4).count).toBe(4);
    expect(source.stop()).toBe(source.stop());
  });
  test("after the tracer is killed", async () => {
    const script = join(import.meta.dir, "hold-watches.ts");
    const command = [process.execPath, script, String(program.pid), String(program.word)];
    const tracer = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
    await tracer.stdout.getReader().read();
    expect(probeRegisters(CPUS, 4).count).toBeLessThan(4);
    tracer.kill("SIGKILL");
    await tracer.exited;
    expect(await waitUntil(() => !watching())).toBe(true);
    await program.tell("inc", 10);
  });
});

import { expect, setDefaultTimeout, test } from "bun:test";
import { release } from "node:os";
import type { Collector } from "../../../../src/collect/collector.ts";
import type { ClockSummary } from "../../../../src/collect/ebpf/clock/clock-summary.ts";
import { createEbpfCollector } from "../../../../src/collect/ebpf/ebpf.ts";
import type { WatchSummary } from "../../../../src/collect/ebpf/watch/watch.ts";
import type { Batch } from "../../../../src/columnar/batch.ts";
import { affinityCpus } from "../../../../src/kernel/libc.ts";
import { balances, type LedgerRow, type Stage } from "../../../../src/schema/ledger.ts";
import { createProcessTree } from "../../../../src/target/process-tree.ts";
import { compileProgram } from "../../../fixtures/compile.ts";
import { rowsAt } from "../../../fixtures/ledger.ts";
import { type Row, rowsOf } from "../../../fixtures/perf-rows.ts";
import { registersFree } from "../../../fixtures/registers-free.ts";
import { type HeldTarget, heldNow, holdTarget } from "../held-target.ts";

setDefaultTimeout(120_000);

interface Sampled {
  readonly accesses: readonly Row[];
  readonly ledger: readonly LedgerRow[];
  readonly collector: Collector;
  readonly pid: number;
}

interface Settings {
  readonly sources?: readonly string[];
  readonly clockHz: number;
  readonly budgetPct?: number;
}

/** Samples a command from its exec to its end, or until `until` is done. */
async function sample(
  command: readonly string[],
  { sources = ["clock"], clockHz, budgetPct = 50 }: Settings,
  until: (held: HeldTarget) => Promise<unknown> = (held) => held.finish(),
): Promise<Sampled> {
  await using held = holdTarget(command);
  const options = {
    budgetPct,
    watchRegisters: 2,
    sources,
    seed: 3,
    clockHz,
    engineObjects: [],
    tree: createProcessTree(),
  };
  const collector = createEbpfCollector(options, { pmus: [], kernelRelease: release() });
  const batches: Batch[] = [];
  try {
    await collector.start(held.target);
    held.release();
    let over = false;
    until(held).then(() => {
      over = true;
    });
    while (!over) {
      batches.push(...structuredClone(collector.batches()));
      collector.beforeRest?.();
      await Bun.sleep(5);
    }
    const { batches: last, ledger } = await collector.stop();
    const accesses = [...batches, ...last].filter(({ table }) => table === "access").flatMap(rowsOf);
    return { accesses, ledger, collector, pid: held.target.pid };
  } finally {
    await collector.stop();
  }
}

const clockOf = (collector: Collector) => (collector.details?.().clock ?? null) as ClockSummary | null;
const watchOf = (collector: Collector) => (collector.details?.().watch ?? null) as WatchSummary | null;
const clockRow = (ledger: readonly LedgerRow[], stage: Stage) =>
  rowsAt(ledger, { stream: "access", source: "clock", stage })[0];

function within(address: Row[string] | undefined, first: number, bytes: number): boolean {
  return Number(address) >= first && Number(address) < first + bytes;
}

test("samples have the address that the instruction was about to access, and every one is accounted for", async () => {
  let line = "";
  const walk = [compileProgram("walk-array", ["-no-pie"]), "0", "1.2"];
  const { accesses, ledger, collector, pid } = await sample(walk, { clockHz: 2000 }, async (held) => {
    line = await held.line();
    await held.finish();
  });
  const [first = 0, bytes = 0] = line.split(" ").map(Number);
  expect(accesses.length).toBeGreaterThan(50);
  const inside = accesses.filter(({ address }) => within(address, first, bytes));
  expect(inside.length / accesses.length).toBeGreaterThan(0.95);
  expect(new Set(inside.map(({ op_type }) => op_type))).toEqual(new Set(["load", "store"]));
  expect(accesses.every(({ source, op_evidence }) => source === "clock" && op_evidence === "decoded")).toBe(true);
  expect(accesses.every((row) => row.pid === pid && row.in_kernel === 0)).toBe(true);
  // A period is a time: a tenth around that of the rate.
  expect(accesses.every(({ period }) => Number(period) > 0.44e6 && Number(period) < 0.56e6)).toBe(true);

  expect(await collector.canRun({ pid, command: walk, held: false })).toMatchObject({
    ok: true,
    sources: ["clock"],
    identifies: ["clock", "step", "region_map"],
  });
  expect(ledger.filter((row) => !balances(row))).toEqual([]);
  const summary = clockOf(collector);
  expect(clockRow(ledger, "observe")?.seen).toBe(summary?.samples ?? 0);
  const row = clockRow(ledger, "decode");
  expect(row?.kept).toBe(accesses.length);
  expect(row?.seen).toBe(clockRow(ledger, "ring")?.kept ?? -1);
  expect(clockRow(ledger, "ring")?.seen).toBe(clockRow(ledger, "observe")?.kept ?? -1);
  expect((row?.dropped ?? 1) + (clockRow(ledger, "ring")?.dropped ?? 1)).toBeLessThanOrEqual(accesses.length / 50);
  expect(collector.costs?.().find(({ what }) => what === "timer")).toMatchObject({
    count: (summary?.samples ?? 0) - (summary?.foreign ?? 0),
    each_ns: { value: summary?.cost.value },
  });
  expect(watchOf(collector)).toBeNull();
});

test("segment bases, made code, threads, forked processes and two CPUs are sampled right, at the rate asked for", async () => {
  const said = new Map<string, number[]>();
  let cpuSeconds = 0;
  const HZ = 500;
  const { accesses, ledger, collector } = await sample(
    [compileProgram("walk-segments"), "0.5"],
    { clockHz: HZ },
    async (held) => {
      for (let i = 0; i < 3; i++) {
        const [who = "", ...numbers] = (await held.line()).split(" ");
        said.set(who, numbers.map(Number));
      }
      cpuSeconds = Number(await held.line());
      await held.finish();
    },
  );
  for (const [who, op] of [
    ["fs", "load"],
    ["gs", "load"],
    ["child", "load_store"],
  ] as const) {
    const [tid, first = 0, bytes = 0] = said.get(who) ?? [];
    const rows = accesses.filter((row) => row.tid === tid);
    expect(rows.length, who).toBeGreaterThan(20);
    const right = rows.filter(({ address, op_type }) => within(address, first, bytes) && op_type === op);
    expect(right.length / rows.length, who).toBeGreaterThan(0.9);
  }
  expect(new Set(accesses.map(({ pid }) => pid)).size).toBe(2);
  expect(new Set(accesses.map(({ cpu }) => cpu)).size).toBe(Math.min(2, affinityCpus(process.pid).length));

  // Every sample of the program, whether it gave an address or not, by the CPU time that the program was given.
  const summary = clockOf(collector);
  const samples = (summary?.samples ?? 0) - (summary?.foreign ?? 0);
  expect(samples / (HZ * cpuSeconds)).toBeGreaterThan(0.6);
  expect(samples / (HZ * cpuSeconds)).toBeLessThan(1.3);
  expect(ledger.filter((row) => !balances(row))).toEqual([]);
});

test("a timer and watches run side by side, under one budget", async () => {
  await registersFree();
  const walk = [compileProgram("walk-array", ["-no-pie"]), "0", "1"];
  const { accesses, ledger, collector } = await sample(walk, {
    sources: ["watch", "clock"],
    clockHz: 100,
    budgetPct: 10,
  });
  const clock = clockOf(collector);
  const watch = watchOf(collector);
  expect(clock?.budget_pct ?? 0).toBeGreaterThan(0);
  expect((clock?.budget_pct ?? 0) + (watch?.budget.budget_pct ?? 0)).toBeCloseTo(10, 6);
  expect(accesses.filter(({ source }) => source === "clock").length).toBe(clock?.rows ?? 0);
  expect(watch?.counts.armings).toBeGreaterThan(0);
  expect(ledger.filter((row) => !balances(row))).toEqual([]);
});

test("a rate that the budget does not pay for is lowered, and said", async () => {
  const walk = [compileProgram("walk-array", ["-no-pie"]), "0", "0.5"];
  const { collector } = await sample(walk, { clockHz: 10_000, budgetPct: 0.1 });
  const summary = clockOf(collector);
  if (summary === null) throw new Error("no timer");
  expect(summary.budget_pct).toBeCloseTo(0.1, 6);
  expect(summary.hz.taken).toBeCloseTo(1e6 / summary.cost.value, 3);
  expect(collector.warnings?.().join()).toContain("raise --budget");
});

test("a target that is killed leaves its rows, a ledger that balances, and nothing open", async () => {
  const walk = [compileProgram("walk-array", ["-no-pie"]), "0", "30"];
  const round = () =>
    sample(walk, { clockHz: 2000 }, async (held) => {
      await held.line();
      await Bun.sleep(500);
      await held.kill();
    });
  await round();
  const before = heldNow();
  const { accesses, ledger } = await round();
  expect(heldNow()).toEqual(before);
  expect(before.kernelObjects).toEqual([]);
  expect(accesses.length).toBeGreaterThan(10);
  expect(ledger.filter((row) => !balances(row))).toEqual([]);
  expect(clockRow(ledger, "decode")?.kept).toBe(accesses.length);
});

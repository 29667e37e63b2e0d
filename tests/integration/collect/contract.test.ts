import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Collector } from "../../../src/collect/collector.ts";
import { createEbpfCollector } from "../../../src/collect/ebpf/ebpf.ts";
import { createMemrayCollector } from "../../../src/collect/memray/memray.ts";
import { createPerfMemCollector } from "../../../src/collect/perf-mem/perf-mem.ts";
import { createProcessCollector } from "../../../src/collect/process/process-collector.ts";
import { type Batch, isStringColumn, NULL_CODE } from "../../../src/columnar/batch.ts";
import { MrmTraceError } from "../../../src/errors.ts";
import { monotonicNs } from "../../../src/kernel/libc.ts";
import { runQueueWaitNs } from "../../../src/kernel/run-queue-wait.ts";
import { type ColumnType, columnsOf, STREAMS } from "../../../src/schema/columns.ts";
import { balances } from "../../../src/schema/ledger.ts";
import { createProcessTree } from "../../../src/target/process-tree.ts";
import { memrayPython } from "../../fixtures/memray-environment.ts";
import { type HeldTarget, heldSettled, holdTarget } from "./held-target.ts";

const EBPF = { budgetPct: 1, watchRegisters: 2, sources: ["auto", "clock"], seed: 1, clockHz: 100, engineObjects: [] };
const raw = mkdtempSync(join(tmpdir(), "mrm-contract-"));
afterAll(() => rmSync(raw, { recursive: true, force: true }));
let recordings = 0;
const PERF = ["page-faults", "cpu-clock"];
const COLLECTORS: readonly (readonly [string, () => Collector])[] = [
  ["ebpf", () => createEbpfCollector({ ...EBPF, tree: createProcessTree() })],
  [
    "memray",
    () =>
      createMemrayCollector({
        rawDir: join(raw, String(++recordings)),
        record: ["follow-fork"],
        recordCommand: "masked",
      }),
  ],
  ["perf-mem", () => createPerfMemCollector({ words: PERF, rawDir: join(raw, String(++recordings)) })],
  ["process", () => createProcessCollector({ intervalNs: 20_000_000n })],
];

/** Maps, touches and unmaps memory, and starts programs, without end. */
const BUSY = [
  memrayPython("1.20.0"),
  "-c",
  "import mmap,os\nprint('on',flush=True)\nwhile True:\n  m=mmap.mmap(-1,1<<20)\n  for i in range(0,1<<20,4096): m[i]=1\n  m.close()",
];
const IDLE = [memrayPython("1.20.0"), "-c", "pass"];
const NO_PID = 2 ** 22 + 7;
const ROUNDS = 3;

const ARRAYS: Record<Exclude<ColumnType, "string">, string> = {
  u64: "BigUint64Array",
  i64: "BigInt64Array",
  u32: "Uint32Array",
  i32: "Int32Array",
  u16: "Uint16Array",
  u8: "Uint8Array",
  bool: "Uint8Array",
  f64: "Float64Array",
  f32: "Float32Array",
};

/** What is wrong with a batch; empty for one that keeps the contract. */
function faultsOf(batch: Batch): string[] {
  if (!(STREAMS as readonly string[]).includes(batch.table)) return [`${batch.table} is no stream`];
  const wrong: string[] = [];
  const columns = columnsOf(batch.table);
  const names = new Set(columns.map(({ name }) => name));
  for (const name of Object.keys(batch.columns)) if (!names.has(name)) wrong.push(`${name} is no column`);
  for (const { name, type, nullable } of columns) {
    const column = batch.columns[name];
    if (column === undefined) {
      if (!nullable) wrong.push(`${name} is missing`);
    } else if (isStringColumn(column)) {
      if (type !== "string") wrong.push(`${name} holds strings`);
      if (column.codes.length !== batch.rows) wrong.push(`${name} has ${column.codes.length} rows of ${batch.rows}`);
      const most = column.values.length;
      if (!column.codes.every((code) => code < most || (nullable && code === NULL_CODE))) wrong.push(`${name}: codes`);
    } else {
      const array = column.data.constructor.name;
      if (type === "string" || array !== ARRAYS[type]) wrong.push(`${name} is a ${array}`);
      if (column.data.length !== batch.rows) wrong.push(`${name} has ${column.data.length} rows of ${batch.rows}`);
      if (column.valid && column.valid.length !== batch.rows) wrong.push(`${name} has other nulls`);
      if (!nullable && column.valid?.includes(0)) wrong.push(`${name} has nulls`);
    }
  }
  return wrong;
}

/** A target under its collector: one that starts the program itself is let do so. */
function hold(collector: Collector, command: readonly string[]): HeldTarget {
  const held = holdTarget(collector.launch?.(command) ?? command);
  return { ...held, target: { ...held.target, command } };
}

/** Polls for some time as a run does; the batches, and the longest call in ms, less waiting for a CPU. */
async function poll(collector: Collector, ms: number): Promise<{ batches: Batch[]; longestMs: number }> {
  const batches: Batch[] = [];
  let longestMs = 0;
  const end = performance.now() + ms;
  while (performance.now() < end) {
    const waited = runQueueWaitNs(process.pid);
    const begin = monotonicNs();
    const got = collector.batches();
    const took = Number(monotonicNs() - begin) - (runQueueWaitNs(process.pid) - waited);
    longestMs = Math.max(longestMs, took / 1e6);
    batches.push(...structuredClone(got));
    collector.beforeRest?.();
    await Bun.sleep(5);
  }
  return { batches, longestMs };
}

/** Stops collectors at the end of a test that failed, so that others find the process as it was. */
function stopping(...collectors: readonly Collector[]): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      for (const collector of collectors) await collector.stop();
    },
  };
}

for (const [name, create] of COLLECTORS) {
  describe(`the ${name} collector`, () => {
    test("says whether it can run without changing anything, also for a process that is gone", async () => {
      await using held = holdTarget(IDLE);
      const before = await heldSettled();
      const collector = create();
      expect(collector.name).toBe(name);
      expect(await collector.canRun(held.target)).toMatchObject({ ok: true });
      const gone = await collector.canRun({ ...held.target, pid: NO_PID });
      if (!gone.ok) expect([gone.reason, gone.hint].every((text) => text.length > 10)).toBe(true);
      expect(await heldSettled()).toEqual(before);
    });

    test("gives nothing before it has started, and stops in order without having started", async () => {
      const collector = create();
      expect(collector.batches()).toEqual([]);
      const { batches, ledger } = await collector.stop();
      expect(batches).toEqual([]);
      expect(ledger.every(balances)).toBe(true);
    });

    test("gives batches of streams with the columns of their table, and never blocks", async () => {
      const collector = create();
      await using held = hold(collector, BUSY);
      await using _stopping = stopping(collector);
      await collector.start(held.target);
      held.release();
      await held.line();
      // What others do to a busy machine may hold one round up; a collector that blocks holds up each.
      const rounds: Awaited<ReturnType<typeof poll>>[] = [];
      while (rounds.length < ROUNDS && !rounds.some(({ longestMs }) => longestMs < 50)) {
        rounds.push(await poll(collector, 1200));
      }
      const rest = await collector.stop();
      const all = [...rounds.flatMap(({ batches }) => batches), ...rest.batches];
      expect(all.reduce((sum, batch) => sum + batch.rows, 0)).toBeGreaterThan(10);
      expect(all.flatMap(faultsOf)).toEqual([]);
      expect(all.every((batch) => batch.rows > 0)).toBe(true);
      expect(Math.min(...rounds.map(({ longestMs }) => longestMs))).toBeLessThan(50);
    });

    test("balances its ledger though the target goes on, and is stopped twice without harm", async () => {
      const collector = create();
      await using held = hold(collector, BUSY);
      await using _stopping = stopping(collector);
      await collector.start(held.target);
      held.release();
      await held.line();
      await poll(collector, 300);
      // As late as a run that stops between two polls.
      await Bun.sleep(50);
      const { batches: last, ledger } = await collector.stop();
      // The ledger holds once the last batch was taken.
      for (const batch of last) expect(batch.rows).toBeGreaterThan(0);
      expect(ledger.length).toBeGreaterThan(0);
      expect(ledger.filter((row) => !balances(row))).toEqual([]);
      expect(ledger.some((row) => row.kept > 0)).toBe(true);
      expect(collector.batches()).toEqual([]);
      const again = await collector.stop();
      expect(again.batches).toEqual([]);
      expect(again.ledger.every(balances)).toBe(true);
    });

    test("leaves nothing behind", async () => {
      // The target outlives both rounds: its pipes are ours, too.
      await using held = holdTarget(BUSY);
      held.release();
      await held.line();
      const round = async (): Promise<void> => {
        const collector = create();
        await using _stopping = stopping(collector);
        await collector.start({ ...held.target, held: false });
        await poll(collector, 100);
        await collector.stop();
      };
      await round();
      const before = await heldSettled();
      await round();
      expect(await heldSettled()).toEqual(before);
      expect(before.kernelObjects).toEqual([]);
    });

    test("stops in order after a start that failed, and leaves nothing behind", async () => {
      const attempt = async (): Promise<unknown> => {
        const collector = create();
        const error = await collector.start({ pid: NO_PID, command: ["x"], held: true }).catch((caught) => caught);
        expect(collector.batches().flatMap(faultsOf)).toEqual([]);
        const { ledger } = await collector.stop();
        expect(ledger.every(balances)).toBe(true);
        await collector.stop();
        return error;
      };
      await attempt();
      const before = await heldSettled();
      const error = await attempt();
      if (error !== undefined) expect(error).toBeInstanceOf(MrmTraceError);
      expect(await heldSettled()).toEqual(before);
    });

    test("runs beside another of its kind, each with its own target", async () => {
      const [first, second] = [create(), create()];
      await using one = hold(first, BUSY);
      await using two = hold(second, BUSY);
      const runs = [
        { held: one, collector: first },
        { held: two, collector: second },
      ];
      await using _stopping = stopping(...runs.map(({ collector }) => collector));
      for (const { held, collector } of runs) await collector.start(held.target);
      for (const { held } of runs) held.release();
      for (const { held } of runs) await held.line();
      for (const { held, collector } of runs) {
        const { batches } = await poll(collector, 300);
        const rest = await collector.stop();
        const pids = new Set(
          [...batches, ...rest.batches].flatMap(({ columns: { pid } }) =>
            pid && "data" in pid ? Array.from(pid.data as Iterable<number>) : [],
          ),
        );
        expect(pids.has(held.target.pid)).toBe(true);
        const others = runs.filter((run) => run.held !== held).map((run) => run.held.target.pid);
        expect(others.filter((pid) => pids.has(pid))).toEqual([]);
        expect(rest.ledger.filter((row) => !balances(row))).toEqual([]);
      }
    });
  });
}

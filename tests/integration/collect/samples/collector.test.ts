import { beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import { analyseRun } from "../../../../src/analyse/pipeline.ts";
import type { Collector } from "../../../../src/collect/collector.ts";
import { createEbpfCollector } from "../../../../src/collect/ebpf/ebpf.ts";
import type { Pmu } from "../../../../src/collect/ebpf/samples/pmu.ts";
import type { SampleSummary } from "../../../../src/collect/ebpf/samples/sample-summary.ts";
import type { WatchSummary } from "../../../../src/collect/ebpf/watch/watch.ts";
import type { Batch } from "../../../../src/columnar/batch.ts";
import { PERF_TYPE } from "../../../../src/kernel/perf-event.ts";
import { record, type StopReason } from "../../../../src/record/recorder.ts";
import { balances } from "../../../../src/schema/ledger.ts";
import { openDatabase } from "../../../../src/sql/database.ts";
import { createProcessTree } from "../../../../src/target/process-tree.ts";
import { compileProgram } from "../../../fixtures/compile.ts";
import { rowsAt } from "../../../fixtures/ledger.ts";
import { registersFree } from "../../../fixtures/registers-free.ts";
import { holdTarget } from "../held-target.ts";

setDefaultTimeout(120_000);
beforeEach(registersFree);

/**
 * A PMU whose format turns the documented memory events into the kernel's page-fault events: umask 0x81 and 0x01 into
 * all faults (2), 0x82 into major ones (6). Their samples have an address, so everything behind the choice of events
 * runs for real.
 */
function faultPmu(over: Partial<Pmu> = {}): Pmu {
  return {
    name: "cpu",
    type: PERF_TYPE.software,
    formats: new Map([
      ["umask", "config:1,2,3,4,5,6,7,1"],
      ["event", "config2:0-7"],
      ["ldlat", "config2:8-23"],
    ]),
    events: new Map([
      ["mem-loads", "event=0xcd,umask=0x1,ldlat=3"],
      ["mem-stores", "event=0xd0,umask=0x82"],
    ]),
    caps: new Map([
      ["max_precise", "3"],
      ["pmu_name", "skylake"],
    ]),
    cpus: null,
    ...over,
  };
}

const samplesOf = (collector: Collector) => (collector.details?.().samples ?? null) as SampleSummary | null;
const watchOf = (collector: Collector) => (collector.details?.().watch ?? null) as WatchSummary | null;

const COMMAND = (turns = 300) => [compileProgram("fault-storm"), "1", "2000", String(turns)];

async function collect(sources: readonly string[], pmu: Pmu, turns?: number) {
  await using held = holdTarget(COMMAND(turns));
  const tree = createProcessTree();
  const options = { budgetPct: 10, watchRegisters: 2, sources, seed: 3, clockHz: 100, engineObjects: [], tree };
  const collector = createEbpfCollector(options, { pmus: [pmu], kernelRelease: release() });
  const batches: Batch[] = [];
  try {
    await collector.start(held.target);
    const can = await collector.canRun(held.target);
    held.release();
    // It waits for the end of its input when it is done.
    const ended = held.line().then(() => held.finish());
    while (!tree.hasEnded()) {
      batches.push(...structuredClone(collector.batches()));
      collector.beforeRest?.();
      await Bun.sleep(5);
    }
    await ended;
    const { batches: last, ledger } = await collector.stop();
    return { can, batches: [...batches, ...last], ledger, collector, pid: held.target.pid };
  } finally {
    await collector.stop();
  }
}

function strings(batches: readonly Batch[], table: string, name: string): string[] {
  return batches
    .filter((batch) => batch.table === table)
    .flatMap((batch) => {
      const column = batch.columns[name];
      return column && "codes" in column ? Array.from(column.codes, (code) => column.values[code] ?? "") : [];
    });
}

test("samples and the watches that they direct run side by side, under one budget", async () => {
  // Long enough for some dozens of watches: chance alone must not leave out one of their kinds.
  const { can, batches, ledger, collector } = await collect(["pebs", "watch"], faultPmu(), 600);
  expect(can).toMatchObject({ ok: true, sources: ["pebs", "watch"], whyNotBetter: "" });

  const sampled = strings(batches, "access", "source").filter((source) => source === "pebs").length;
  expect(sampled).toBeGreaterThan(50);
  const summary = samplesOf(collector);
  expect(summary?.events.map(({ name }) => name)).toEqual(["all_loads", "all_stores", "load_latency"]);
  expect(summary?.rows).toBe(sampled);
  expect(collector.costs?.()).toContainEqual(expect.objectContaining({ what: "samples", count: summary?.samples }));

  // Half of the turns go to what was sampled lately.
  const strata = strings(batches, "watch", "stratum");
  expect(strata.filter((stratum) => stratum.endsWith("/sampled")).length).toBeGreaterThan(0);
  expect(strata.filter((stratum) => !stratum.endsWith("/sampled")).length).toBeGreaterThan(0);
  expect(watchOf(collector)?.budget.budget_pct).toBe(5);

  expect(ledger.filter((row) => !balances(row))).toEqual([]);
  expect(rowsAt(ledger, { source: "pebs", stage: "observe" })).toHaveLength(1);
});

test("samples alone take no register, and no watch is made", async () => {
  const { can, batches, collector } = await collect(["pebs"], faultPmu());
  expect(can).toMatchObject({ ok: true, sources: ["pebs"], identifies: ["pebs", "step", "region_map"] });
  expect(strings(batches, "watch", "stratum")).toEqual([]);
  expect(new Set(strings(batches, "access", "source"))).toEqual(new Set(["pebs"]));
  expect(watchOf(collector)).toBeNull();
});

test("auto goes on with watches where the kernel refuses what sysfs promised, and says why", async () => {
  const { can, batches, collector } = await collect(["auto"], faultPmu({ type: 4242 }));
  expect(can).toMatchObject({ ok: true, sources: ["watch"] });
  expect(can.ok ? can.whyNotBetter : "").toMatch(/^pebs: opening all_loads of cpu on CPU 0 failed: ENOENT/);
  expect(strings(batches, "watch", "stratum").length).toBeGreaterThan(0);
  expect(samplesOf(collector)).toBeNull();
});

test("a source that was named ends the start where the kernel refuses it, and leaves nothing behind", async () => {
  await expect(collect(["pebs", "watch"], faultPmu({ type: 4242 }))).rejects.toThrow(/opening all_loads of cpu/);
});

test("a recording of samples is labelled and analysed like any other, each row by its period", async () => {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-samples-"));
  await using held = holdTarget(COMMAND());
  const tree = createProcessTree();
  const options = {
    budgetPct: 50,
    watchRegisters: 0,
    sources: ["pebs"],
    seed: 3,
    clockHz: 100,
    engineObjects: [],
    tree,
  };
  const collector = createEbpfCollector(options, { pmus: [faultPmu()], kernelRelease: release() });
  try {
    await collector.start(held.target);
    let released = false;
    const ended = held.line().then(async (line) => {
      await held.finish();
      return JSON.parse(line) as { pages: number };
    });
    let stop: (why: StopReason) => void = () => {};
    const { ledger } = await record({
      runDir,
      collectors: [collector],
      isOwnProcess: true,
      starting: true,
      stopped: new Promise((resolve) => {
        stop = resolve;
      }),
      durationNs: undefined,
      maxSizeBytes: 2 ** 30,
      onBatch: () => {},
      onPoll: () => {
        if (!released) held.release();
        released = true;
        if (tree.hasEnded()) stop("target_ended");
      },
    });
    const { pages } = await ended;
    const facts = { run_id: "samples", trap_cost_ns: null, seed: 1, sight: [] };
    await analyseRun(runDir, { ...facts, ledger });
    await using database = await openDatabase();
    const trace = `read_parquet('${runDir}/trace/*.parquet')`;
    const rows = await database.rows(
      `SELECT op_type, source, count(*) AS n, sum(period) AS period, max(period) AS most FROM ${trace} GROUP BY ALL ORDER BY op_type`,
    );
    expect([...new Set(rows.map((row) => row.source))]).toEqual(["pebs"]);
    const [loads, ...others] = rows;
    expect(loads?.op_type).toBe("load");
    // A page of the program that has left the page cache makes a major fault, which this PMU calls a store.
    expect(others.map((row) => row.op_type).filter((op) => op !== "store")).toEqual([]);
    expect(rows.reduce((sum, row) => sum + Number(row.n), 0)).toBe(samplesOf(collector)?.rows ?? 0);
    // Each CPU's last samples are still to come when it ends.
    const missing = pages - Number(loads?.period);
    expect(Math.abs(missing)).toBeLessThan(pages * 0.1 + 4 * Number(loads?.most));
    const figures = await database.rows(
      `SELECT grain_bytes, status FROM read_parquet('${runDir}/metrics.parquet') WHERE source = 'pebs' AND metric = 'working_set_bytes' AND region_type = 'unknown' AND mapping_kind = 'anon' ORDER BY grain_bytes`,
    );
    expect(figures.map((row) => row.grain_bytes)).toEqual([64, 4096, 65_536, 2_097_152]);
  } finally {
    await collector.stop();
    rmSync(runDir, { recursive: true });
  }
});

import { afterEach, expect, test } from "bun:test";
import { cpus } from "node:os";
import { markSlackBytes } from "../../src/analyse/process/mark-slack.ts";
import { openRun } from "../../src/api/open-run.ts";
import type { RunJson } from "../../src/schema/run-json.ts";
import { compileProgram } from "../fixtures/compile.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "../integration/run/cli.ts";

afterEach(endLeftRuns);

const MIB = 64;
const PAGE_BYTES = 4096;
const PAGES = (MIB * 2 ** 20) / PAGE_BYTES;
/** The kernel counts resident pages per CPU, and adds them up when 32 x CPUs and more have come together (mm, percpu_counter). */
const PAGES_NOT_ADDED_UP = 4 * 64;
/** /proc is read every 100 ms, and not at the very end. */
const MOST_UNREAD_NS = 150e6;

type Row = RunJson["metrics"][number];

function figureOf(report: RunJson, metric: string, source = "process"): Row {
  const found = report.metrics.find(
    (row) =>
      row.metric === metric &&
      row.source === source &&
      row.scope === "process" &&
      row.phase === "all" &&
      row.step === "all",
  );
  if (found === undefined) throw new Error(`no figure ${metric}`);
  return found;
}

/** A run of a program that holds 64 MiB for a while, and what it said of itself. */
async function heldMemory() {
  const ended = await runCli([
    "run",
    "--json",
    ...QUICK,
    "--output",
    outputFolder(),
    "--",
    compileProgram("held-memory"),
    String(MIB),
  ]);
  const report = jsonOf(ended) as unknown as RunJson;
  const line = ended.stderr.split("\n").find((text) => text.startsWith("{"));
  const said = JSON.parse(line ?? "{}") as Record<"peak_kib" | "minor" | "major" | "cpu_ns", number>;
  return { report, said };
}

test("the target's peak, CPU time and faults are those that the kernel tells the program itself", async () => {
  const { report, said } = await heldMemory();
  const peak = figureOf(report, "rss_peak_bytes");
  expect(said.peak_kib).toBeGreaterThan(MIB * 1024);
  // 64 MiB that came and went between two readings are in it; what it held behind the last one, nobody read.
  expect([peak.status, peak.value, peak.hi, peak.ci_level]).toEqual(["bound", null, null, null]);
  expect(Number(peak.lo)).toBeLessThanOrEqual(said.peak_kib * 1024);
  const slack = markSlackBytes(cpus().length);
  expect(Number(peak.lo)).toBeGreaterThanOrEqual(said.peak_kib * 1024 - slack - PAGES_NOT_ADDED_UP * PAGE_BYTES);

  const cpu = figureOf(report, "cpu_ns");
  expect(said.cpu_ns).toBeGreaterThan(300e6);
  expect(Number(cpu.lo)).toBeLessThanOrEqual(said.cpu_ns);
  expect(Number(cpu.hi)).toBeGreaterThanOrEqual(said.cpu_ns);
  // From the last reading to the end it may have had every CPU.
  expect(Number(cpu.hi) - Number(cpu.lo)).toBeLessThanOrEqual(50e6 + cpus().length * MOST_UNREAD_NS);
  expect(Number(cpu.value) - Number(cpu.lo)).toBeLessThanOrEqual(50e6);

  // The same over time: every row has what grew since the row before.
  const grown = { cpu_ns: 0, rows: 0, most: 0 };
  using run = openRun(report.run_dir);
  for (const batch of run.batches("process_timeline")) {
    grown.rows += batch.numRows;
    const [user, system, rss] = (["cpu_user_ns", "cpu_system_ns", "rss_bytes"] as const).map((name) =>
      batch.getChild(name),
    );
    for (let row = 0; row < batch.numRows; row++) {
      grown.cpu_ns += Number(user?.get(row)) + Number(system?.get(row));
      grown.most = Math.max(grown.most, Number(rss?.get(row)));
    }
  }
  expect(grown.rows).toBeGreaterThan(4);
  expect(grown.cpu_ns).toBe(Number(cpu.value));
  expect(grown.most).toBeLessThanOrEqual(Number(peak.lo) + slack);

  const taken = said.minor + said.major;
  expect(taken).toBeGreaterThan(PAGES);
  const faults = figureOf(report, "faults", "fault");
  expect([faults.status, Math.abs(Number(faults.value) - taken) < 0.02 * taken]).toEqual(["ok", true]);
  // The program takes none behind its last reading, which nobody knows.
  const read = figureOf(report, "faults", "process");
  expect([read.status, read.hi]).toEqual(["bound", null]);
  expect(Number(read.lo)).toBeWithin(0.98 * taken, 1.02 * taken);
  expect(Number(figureOf(report, "major_faults", "fault").value)).toBeGreaterThanOrEqual(0);
  const anonymous = report.metrics.find(
    ({ metric, mapping_kind }) => metric === "first_touches" && mapping_kind === "anon",
  );
  expect(Number(anonymous?.value)).toBeGreaterThanOrEqual(PAGES);
  expect(Number(anonymous?.value)).toBeLessThan(1.02 * PAGES);
});

test("the region map knows how far a stack grew, and its faults are the stack's", async () => {
  const stackMib = 4;
  const ended = await runCli([
    "run",
    "--json",
    ...QUICK,
    "--output",
    outputFolder(),
    "--",
    compileProgram("deep-stack"),
    String(stackMib),
  ]);
  const report = jsonOf(ended) as unknown as RunJson;
  const stack = report.labels.find(({ mapping_kind }) => mapping_kind === "stack");
  expect(Number(stack?.bytes)).toBeGreaterThanOrEqual(stackMib * 2 ** 20);
  expect(Number(stack?.bytes)).toBeLessThan((stackMib + 1) * 2 ** 20);
  const touches = (kind: string | null) =>
    report.metrics.find(
      ({ metric, scope, phase, mapping_kind }) =>
        metric === "first_touches" && scope === "class" && phase === "all" && mapping_kind === kind,
    );
  expect(Number(touches("stack")?.value)).toBeGreaterThanOrEqual((stackMib * 2 ** 20) / PAGE_BYTES);
  expect(Number(touches(null)?.value ?? 0)).toBeLessThan(100);
});

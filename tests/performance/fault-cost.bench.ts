/** What recording a page fault adds to it, ours against `perf record`, on one program of a million first touches. */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { affinityCpus } from "../../src/kernel/libc.ts";
import { compileProgram } from "../fixtures/compile.ts";
import { lineReader } from "../fixtures/line-reader.ts";
import { aside, atMost, type BenchOptions, type BenchRow, median } from "./bench-row.ts";
import { blockInterval } from "./block-interval.ts";
import type { Recorded } from "./fault-recorder.ts";

const ARMS = ["off", "ours", "perf", "off2"] as const;
type Arm = (typeof ARMS)[number];

const ROUND_PAGES = 100_000;
/** A recorder of some hundred ms of CPU is mostly its start and the compiling of its code: runs that are this much longer. */
const LONGER = 10;
const TARGET_RATIO = 1 / 3;
const SEED = 20240117;
/** perf says nothing when it has attached; it has opened its output before that. */
const PERF_SETTLE_MS = 400;
/** On a busy machine a recorder loses some; one that lost more was not attached, and its cost says nothing. */
const LEAST_SHARE = 0.95;
/** A recorder that does not end is a failure, not a hang. */
const TOOL_LIMIT_MS = 60_000;

interface Run {
  readonly nsPerFault: number;
  readonly toolCpuNs: number;
  readonly recorded: number;
  /** Recorded over taken in the timed part. */
  readonly share: number;
  readonly bytes: number;
  readonly ours: Recorded | null;
}

interface Place {
  readonly program: string;
  readonly targetCpu: number;
  readonly toolCpu: number;
  readonly dir: string;
  readonly faults: number;
}

interface Tool {
  /** CPU time of the tool and what it recorded, after the target has ended. */
  finish(): Promise<{ cpuNs: number; recorded: number; bytes: number; ours: Recorded | null }>;
}

const NO_TOOL: Tool = { finish: async () => ({ cpuNs: 0, recorded: 0, bytes: 0, ours: null }) };

function pinned(cpu: number, argv: readonly string[]): string[] {
  return ["taskset", "-c", String(cpu), ...argv];
}

/** CPU time of an ended child in ns. */
async function endOf(child: Bun.Subprocess, what: string): Promise<number> {
  const limit = setTimeout(() => child.kill("SIGKILL"), TOOL_LIMIT_MS);
  const code = await child.exited;
  clearTimeout(limit);
  if (code !== 0) throw new Error(`${what} ended with ${child.signalCode ?? code}`);
  return Number(child.resourceUsage()?.cpuTime.total ?? 0n) * 1e3;
}

async function startOurs(place: Place, pid: number): Promise<Tool> {
  const recorder = new URL("./fault-recorder.ts", import.meta.url).pathname;
  const argv = [process.execPath, recorder, String(pid), join(place.dir, "ours")];
  const child = Bun.spawn(pinned(place.toolCpu, argv), { stdout: "pipe", stderr: "inherit" });
  const nextLine = lineReader(child.stdout);
  if ((await nextLine()) !== "ready") throw new Error("our recorder did not start");
  return {
    async finish() {
      const line = await nextLine();
      const cpuNs = await endOf(child, "our recorder");
      const ours = JSON.parse(line ?? "null") as Recorded;
      return { cpuNs, recorded: ours.rows, bytes: ours.bytes, ours };
    },
  };
}

async function startPerf(place: Place, pid: number): Promise<Tool> {
  const file = join(place.dir, "perf.data");
  const argv = ["perf", "record", "-q", "-e", "page-faults", "-c", "1", "-d", "-o", file, "-p", String(pid)];
  const child = Bun.spawn(pinned(place.toolCpu, argv), { stdout: "ignore", stderr: "ignore" });
  while (!(await Bun.file(file).exists())) {
    if (child.exitCode !== null) throw new Error(`perf record ended with ${child.exitCode} before it recorded`);
    await Bun.sleep(10);
  }
  await Bun.sleep(PERF_SETTLE_MS);
  return {
    async finish() {
      const cpuNs = await endOf(child, "perf record");
      const stats = Bun.spawnSync(["perf", "report", "--stats", "-i", file], { stderr: "ignore" });
      const samples = /SAMPLE events:\s*(\d+)/.exec(stats.stdout.toString())?.[1];
      return { cpuNs, recorded: Number(samples ?? 0), bytes: statSync(file).size, ours: null };
    },
  };
}

async function runArm(arm: Arm, place: Place): Promise<Run> {
  const argv = pinned(place.targetCpu, [place.program, String(place.faults), String(ROUND_PAGES)]);
  const target = Bun.spawn(argv, { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const nextLine = lineReader(target.stdout);
  const start = { off: null, off2: null, ours: startOurs, perf: startPerf }[arm];
  const tool = start === null ? NO_TOOL : await start(place, target.pid);
  target.stdin.write("g");
  target.stdin.end();
  const said = JSON.parse((await nextLine()) ?? "null") as { ns: number; minor: number };
  await target.exited;
  const { cpuNs, ...rest } = await tool.finish();
  // What an arm leaves to be written back is not the load of the next.
  for (const file of readdirSync(place.dir)) rmSync(join(place.dir, file), { recursive: true });
  const share = rest.recorded / said.minor;
  if (start !== null && share < LEAST_SHARE) {
    throw new Error(`${arm} recorded ${rest.recorded} of ${said.minor} faults: its cost is not that of all of them`);
  }
  return { nsPerFault: said.ns / said.minor, toolCpuNs: cpuNs, share, ...rest };
}

interface Block extends Readonly<Record<Arm, Run>> {
  /** The recorders once more, with `LONGER` times the faults. */
  readonly longer: Readonly<Record<"ours" | "perf", Run>>;
}

/** CPU ns of a recorder for one fault more: what remains of its cost in a long recording. */
function furtherCpuNs(blocks: readonly Block[], arm: "ours" | "perf"): number {
  const more = (block: Block): number => block.longer[arm].recorded - block[arm].recorded;
  return median(blocks.map((block) => (block.longer[arm].toolCpuNs - block[arm].toolCpuNs) / more(block)));
}

/** Added ns of an arm per fault in every block. */
function added(blocks: readonly Block[], arm: Arm): number[] {
  return blocks.map((block) => block[arm].nsPerFault - (block.off.nsPerFault + block.off2.nsPerFault) / 2);
}

function interval(blocks: readonly Block[], figure: (blocks: readonly Block[]) => number): string {
  return blockInterval(blocks, figure, SEED);
}

/** Blocks of untraced, ours, perf, untraced; their order turns in every second block; then both recorders longer. About a minute a block. */
export async function benchFaultCost({ blocks: count, quick }: BenchOptions): Promise<BenchRow[]> {
  const cpus = affinityCpus(0);
  const place: Place = {
    program: compileProgram("first-touch"),
    targetCpu: cpus[0] ?? 0,
    toolCpu: cpus.at(-1) ?? 0,
    dir: mkdtempSync(join(tmpdir(), "mrm-fault-cost-")),
    faults: quick ? ROUND_PAGES : 10 * ROUND_PAGES,
  };
  try {
    const blocks: Block[] = [];
    for (let i = 0; i < count; i++) {
      const runs = new Map<Arm, Run>();
      const inTurn = <T>(arms: readonly T[]): readonly T[] => (i % 2 === 0 ? arms : arms.toReversed());
      for (const arm of inTurn(ARMS)) runs.set(arm, await runArm(arm, place));
      const long = { ...place, faults: LONGER * place.faults };
      const longer = new Map<Arm, Run>();
      for (const arm of inTurn(["ours", "perf"] as const)) longer.set(arm, await runArm(arm, long));
      const recorded = Object.fromEntries(runs) as Record<Arm, Run>;
      blocks.push({ ...recorded, longer: Object.fromEntries(longer) as Block["longer"] });
    }
    return rowsOf(blocks);
  } finally {
    rmSync(place.dir, { recursive: true, force: true });
  }
}

function rowsOf(blocks: readonly Block[]): BenchRow[] {
  const ratio = (of: readonly Block[]): number => median(added(of, "ours")) / median(added(of, "perf"));
  const further = (of: readonly Block[]): number => furtherCpuNs(of, "ours") / furtherCpuNs(of, "perf");
  const cpu = (of: readonly Block[]): number =>
    median(of.map((b) => b.longer.ours.toolCpuNs)) / median(of.map((b) => b.longer.perf.toolCpuNs));
  const reading = (of: readonly Block[]): number =>
    median(of.map((b) => b.longer.ours.ours?.reading_cpu_ns ?? Number.NaN)) /
    median(of.map((b) => b.longer.perf.toolCpuNs));
  const offs = blocks.map((b) => b.off2.nsPerFault - b.off.nsPerFault);
  const seconds = (ns: number): string => `${(ns / 1e9).toFixed(3)} s`;
  const ours = median(blocks.map((b) => b.longer.ours.toolCpuNs));
  const perf = median(blocks.map((b) => b.longer.perf.toolCpuNs));
  const start = median(blocks.map((b) => b.longer.ours.ours?.start_cpu_ns ?? Number.NaN));
  const millions = median(blocks.map((b) => b.longer.ours.recorded)) / 1e6;
  const perRow = (arm: "ours" | "perf"): number => median(blocks.map((b) => b[arm].bytes / b[arm].recorded));
  const least = (arm: "ours" | "perf"): string => {
    const share = Math.min(1, ...blocks.map((b) => b[arm].share));
    return `recorded at least ${(100 * share).toFixed(2)} % of the faults in each block`;
  };
  return [
    atMost("fault: added by ours over added by perf record", ratio(blocks), "1", TARGET_RATIO, interval(blocks, ratio)),
    aside("fault: added by ours", median(added(blocks, "ours")), "ns", least("ours")),
    aside("fault: added by perf record", median(added(blocks, "perf")), "ns", least("perf")),
    aside(
      "fault: untraced",
      median(blocks.map((b) => b.off.nsPerFault)),
      "ns",
      `off2 - off ${median(offs).toFixed(0)} ns`,
    ),
    atMost(
      "fault: CPU of the thread that records, over perf record",
      reading(blocks),
      "1",
      TARGET_RATIO,
      `columns in memory, nothing written; ${interval(blocks, reading)}`,
    ),
    atMost(
      "fault: CPU of the recorder for one fault more, over perf record",
      further(blocks),
      "1",
      TARGET_RATIO,
      `${furtherCpuNs(blocks, "ours").toFixed(0)} ns with zstd Parquet, where perf writes plain rows in ${furtherCpuNs(blocks, "perf").toFixed(0)}; ${interval(blocks, further)}`,
    ),
    atMost(
      `fault: CPU of the whole recorder of ${millions.toFixed(1)} M faults, over perf record`,
      cpu(blocks),
      "1",
      TARGET_RATIO,
      `${seconds(ours)} (${seconds(start)} of it to start), against ${seconds(perf)}; ${interval(blocks, cpu)}`,
    ),
    aside("fault: bytes a row on disk, ours", perRow("ours"), "B", `perf.data: ${perRow("perf").toFixed(1)} B`),
  ];
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(await benchFaultCost({ blocks: 3, quick: false }), null, 2)}\n`);
}

/** Samples /proc of every process of the tree, of the tracer and of the machine; runs beside every other collector. */
import type { Batch } from "../../columnar/batch.ts";
import { monotonicNs } from "../../kernel/libc.ts";
import { countLooks, UNCOUNTED } from "../../kernel/looks.ts";
import { urgently } from "../../kernel/urgent.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import { memoryFolder } from "../../target/memory-folder.ts";
import { type ProcRead, readProc } from "../../target/proc-file.ts";
import {
  isOver,
  NO_MEMORY,
  parseBusyNs,
  parseField,
  parsePressureSomeNs,
  parseStat,
  parseStatusMemory,
  parseStealNs,
} from "../../target/proc-text.ts";
import { createProcessTree, type ProcessTree } from "../../target/process-tree.ts";
import { descendants, listsChildren } from "../../target/tree.ts";
import type { Capability, Collector, Target } from "../collector.ts";
import { lookCost } from "../look-cost.ts";
import { busyThreads } from "./busy-threads.ts";
import { type MachineSample, type ProcessSample, processBatch } from "./process-rows.ts";
import { createPssPace, type PssPace } from "./pss-pace.ts";
import { createRunDelay, type RunDelay } from "./run-delay.ts";
import { createSensorReader, findSensors, type SensorReading } from "./sensors.ts";

export interface ProcessCollectorOptions {
  /** The processes to sample; of the target alone, and what is found to descend from it, unless given. */
  readonly tree?: ProcessTree;
  /** False where another collector tells the tree of its processes; else they are looked for in /proc. */
  readonly searches?: boolean;
  /** Processes that other collectors started, asked for once they have started. */
  readonly helpers?: () => readonly number[];
  /** Time between samples in ns; 100 ms by default. */
  readonly intervalNs?: bigint;
  /** Time between searches for new processes in ns; 500 ms by default. */
  readonly searchNs?: bigint;
  /** Least time between two reads of a process's PSS in ns; 5 s by default. */
  readonly pssNs?: bigint;
  /** Least time between two readings of temperature, throttling and frequency in ns; 1 s by default. */
  readonly sensorNs?: bigint;
  readonly procRoot?: string;
  readonly sysRoot?: string;
  /** CLOCK_MONOTONIC in ns. */
  readonly now?: () => bigint;
}

interface Followed {
  readonly role: "target" | "tracer";
  /** With the pid it names the process; null before the first read. */
  startTicks: bigint | null;
  readonly pss: PssPace;
  readonly runDelay: RunDelay;
  nextRunDelayNs: bigint;
  /** When its threads were read last; null before. */
  threadsReadNs: bigint | null;
}

interface Account {
  seen: number;
  kept: number;
  filtered: number;
  readonly dropped: Map<string, number>;
}

const newAccount = (): Account => ({ seen: 0, kept: 0, filtered: 0, dropped: new Map() });

function drop(account: Account, cause: string): void {
  account.dropped.set(cause, (account.dropped.get(cause) ?? 0) + 1);
}

function ledgerRow(way: string, account: Account): LedgerRow {
  const dropped = [...account.dropped.values()].reduce((sum, n) => sum + n, 0);
  const { seen, kept, filtered } = account;
  return {
    stream: "process",
    source: "process",
    stage: "observe",
    way,
    pid: null,
    seen,
    kept,
    filtered,
    dropped,
    dropped_by: Object.fromEntries(account.dropped),
    unseen_estimate: null,
  };
}

/** What a sample says of the threads of a process. */
type ThreadFigures = Pick<ProcessSample, "run_delay_ns" | "waiter_cpu_ns" | "busy_threads">;
const UNREAD_THREADS: ThreadFigures = { run_delay_ns: null, waiter_cpu_ns: null, busy_threads: null };

/** A thread is a file: those of a process are read such that they take at most 1/RUN_DELAY_SHARE of the time. */
const RUN_DELAY_SHARE = 400n;
const LEAST_RUN_DELAY_GAP_NS = 200_000_000n;
/** A machine of hundreds of CPUs has thousands of sensor files: they are read such that they take 1/SENSOR_SHARE of the time. */
const SENSOR_SHARE = 400n;

/** The process collector: one row per process and sample, and a ledger of the files that could not be read. */
export function createProcessCollector(options: ProcessCollectorOptions = {}): Collector {
  const { tree = createProcessTree(), searches = true, helpers = () => [] } = options;
  const { intervalNs = 100_000_000n, searchNs = 500_000_000n, pssNs = 5_000_000_000n } = options;
  const { procRoot = "/proc", sysRoot = "/sys", sensorNs = 1_000_000_000n, now = monotonicNs } = options;
  const followed = new Map<number, Followed>();
  /** Start of every process that has ended, as a zombie stays in the lists of its parent. */
  const ended = new Map<number, bigint>();
  const looks = countLooks();
  const lookAtTarget = looks.kind("reads of PSS");
  const rows = newAccount();
  const extras = newAccount();
  /** Samples for which the tracer came too late: the rows say when they were taken, and no event was lost. */
  let lateSamples = 0;
  let running = false;
  /** Of the last sample, until it is taken. */
  let lastBatches: Batch[] = [];
  let byThread = false;
  let nextSampleNs = 0n;
  let nextSearchNs = 0n;
  let nextSensorNs = 0n;
  let readSensors: (() => SensorReading) | null = null;

  function follow(pid: number, role: "target" | "tracer"): void {
    if (followed.has(pid)) return;
    const runDelay = createRunDelay(`${procRoot}/${pid}`);
    // The tracer's own lock is nobody else's to wait for.
    const pss = createPssPace(pssNs, role === "tracer" ? Number.POSITIVE_INFINITY : undefined);
    followed.set(pid, { role, startTicks: null, pss, runDelay, nextRunDelayNs: 0n, threadsReadNs: null });
  }

  /** It has ended, or its number is another's now. */
  function unfollow(pid: number): void {
    const isTarget = followed.get(pid)?.role === "target";
    followed.delete(pid);
    if (searches && isTarget) tree.end(pid);
  }

  /** A value that may be missing without loss of the row. */
  function extra<T>(read: ProcRead, parse: (text: string) => T | null): T | null {
    extras.seen += 1;
    const value = read.ok ? parse(read.text) : null;
    if (value !== null) extras.kept += 1;
    else if (read.ok) drop(extras, "malformed");
    else if (read.why === "error") drop(extras, "unreadable");
    else extras.filtered += 1;
    return value;
  }

  /** What the sensors say; null while the next reading is not due, unless it is the last. */
  function sensors(last: boolean): MachineSample["sensors"] {
    const atNs = now();
    if (readSensors === null || (atNs < nextSensorNs && !last)) return null;
    const reading = readSensors();
    const stat = readProc(`${procRoot}/stat`);
    const [steal_ns, machine_busy_ns] = [extra(stat, parseStealNs), extra(stat, parseBusyNs)];
    const costNs = now() - atNs;
    nextSensorNs = atNs + (costNs * SENSOR_SHARE > sensorNs ? costNs * SENSOR_SHARE : sensorNs);
    return { ...reading, steal_ns, machine_busy_ns };
  }

  function machine(last: boolean): MachineSample {
    return {
      sensors: sensors(last),
      psi_cpu_some_ns: extra(readProc(`${procRoot}/pressure/cpu`), parsePressureSomeNs),
      psi_memory_some_ns: extra(readProc(`${procRoot}/pressure/memory`), parsePressureSomeNs),
      mem_available_bytes: extra(readProc(`${procRoot}/meminfo`), (text) => parseField(text, "MemAvailable")),
    };
  }

  function pss(folder: string, process: Followed, rssBytes: bigint): bigint | null {
    const beginNs = now();
    if (!process.pss.isDue(beginNs, rssBytes)) return null;
    const look = process.role === "target" ? lookAtTarget : UNCOUNTED;
    const value = extra(
      urgently(() => look(() => readProc(`${folder}/smaps_rollup`))),
      (text) => parseField(text, "Pss"),
    );
    process.pss.read(beginNs, now() - beginNs, rssBytes);
    return value;
  }

  /** Null while the next reading is not due, unless it is the last, and for what is not the target. */
  function threadsOf(process: Followed, last: boolean): ThreadFigures {
    const atNs = now();
    if (process.role !== "target" || (atNs < process.nextRunDelayNs && !last)) return UNREAD_THREADS;
    const reading = process.runDelay();
    const gapNs = (now() - atNs) * RUN_DELAY_SHARE;
    process.nextRunDelayNs = atNs + (gapNs > LEAST_RUN_DELAY_GAP_NS ? gapNs : LEAST_RUN_DELAY_GAP_NS);
    if (reading === null) return UNREAD_THREADS;
    const { threads, ...waiting } = reading;
    const beforeNs = process.threadsReadNs;
    process.threadsReadNs = atNs;
    return { ...waiting, busy_threads: beforeNs === null ? null : busyThreads(threads, atNs - beforeNs) };
  }

  /** No row of a process whose files cannot be read, and none later. */
  function unread(pid: number, why: string): null {
    unfollow(pid);
    if (why === "gone") rows.filtered += 1;
    else drop(rows, why);
    return null;
  }

  /** One row, or null where there is none; the reason is in the account. */
  function sampleOf(pid: number, process: Followed, machineNow: MachineSample, last: boolean): ProcessSample | null {
    rows.seen += 1;
    const timestampNs = now();
    const statRead = readProc(`${procRoot}/${pid}/stat`);
    if (!statRead.ok) return unread(pid, statRead.why);
    const stat = parseStat(statRead.text);
    const folder = stat === null ? `${procRoot}/${pid}` : memoryFolder(procRoot, pid, stat);
    const statusRead = readProc(`${folder}/status`);
    if (!statusRead.ok) return unread(pid, statusRead.why);
    // The memory of another is that one's, and counted there.
    const memory = tree.isGuest(pid) ? NO_MEMORY : parseStatusMemory(statusRead.text);
    if (stat === null || memory === null) {
      drop(rows, "malformed");
      return null;
    }
    const reused = process.startTicks !== null && process.startTicks !== stat.start_ticks;
    if (reused || ended.get(pid) === stat.start_ticks) {
      // The number was given to another process, or its end was seen before.
      unfollow(pid);
      rows.filtered += 1;
      return null;
    }
    process.startTicks = stat.start_ticks;
    rows.kept += 1;
    const hasEnded = isOver(stat);
    if (hasEnded) {
      unfollow(pid);
      ended.set(pid, stat.start_ticks);
    }
    const threads = hasEnded ? UNREAD_THREADS : threadsOf(process, last);
    const io = hasEnded ? null : readProc(`${procRoot}/${pid}/io`);
    return {
      timestamp_ns: timestampNs,
      pid,
      role: process.role,
      stat,
      memory,
      pss_bytes: hasEnded || memory === NO_MEMORY ? null : pss(folder, process, memory.rss_bytes),
      ...threads,
      read_bytes: io && extra(io, (text) => parseField(text, "read_bytes")),
      write_bytes: io && extra(io, (text) => parseField(text, "write_bytes")),
      machine: machineNow,
    };
  }

  function search(atNs: bigint): void {
    if (!searches || atNs < nextSearchNs) return;
    nextSearchNs = atNs + searchNs;
    for (const pid of descendants(procRoot, tree.living(), byThread)) tree.begin(pid);
  }

  function leave(): void {
    if (running) lastBatches = sample(true);
    running = false;
  }

  function sample(last = false): Batch[] {
    const atNs = now();
    search(atNs);
    for (const pid of tree.living()) follow(pid, "target");
    const machineNow = machine(last);
    const samples = [...followed]
      .map(([pid, process]) => sampleOf(pid, process, machineNow, last))
      .filter((row) => row !== null);
    return samples.length === 0 ? [] : [processBatch(samples)];
  }

  return {
    name: "process",
    async canRun(target): Promise<Capability> {
      const read = readProc(`${procRoot}/${target.pid}/stat`);
      if (read.ok) {
        const blindTo = "/proc tells sizes and sums of whole processes, no mapping and no access";
        return { ok: true, sources: [], whyNotBetter: "", identifies: [], blindTo };
      }
      return {
        ok: false,
        reason: `${procRoot}/${target.pid}/stat cannot be read: ${read.why}`,
        hint: "mount /proc without hidepid, or run as root; check that the process is alive",
      };
    },
    async start(target: Target) {
      byThread = listsChildren(procRoot);
      readSensors = createSensorReader(findSensors(sysRoot, procRoot), procRoot);
      if (searches) tree.begin(target.pid);
      for (const pid of [process.pid, ...helpers()]) follow(pid, "tracer");
      nextSampleNs = now();
      running = true;
    },
    batches() {
      const atNs = now();
      if (!running || atNs < nextSampleNs) return [];
      const late = Number((atNs - nextSampleNs) / intervalNs);
      lateSamples += late;
      nextSampleNs += intervalNs * BigInt(late + 1);
      return sample();
    },
    account: () => [ledgerRow("samples", rows), ledgerRow("extras", extras)],
    costs: () => looks.sums().map((sum) => lookCost(sum)),
    details: () => ({ process: { samples_late: lateSamples } }),
    leave,
    async stop() {
      leave();
      const batches = lastBatches;
      lastBatches = [];
      return {
        batches,
        ledger: [ledgerRow("samples", rows), ledgerRow("extras", extras)],
      };
    },
  };
}

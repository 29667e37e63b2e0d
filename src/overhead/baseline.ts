/** How busy the machine is before the run, by whatever is not the target. */
import { readFileSync } from "node:fs";

/** Clock ticks of all CPUs together since boot. */
export interface CpuTicks {
  readonly busy: number;
  readonly idle: number;
  /** Part of `busy` that the host took from this machine. */
  readonly steal: number;
}

/**
 * First line of /proc/stat; null when it is not understood.
 * Waiting for I/O counts as idle, stolen time as busy; guest time is in user time already (proc_stat(5)).
 */
export function parseCpuTicks(text: string): CpuTicks | null {
  const line = /^cpu +(\d{1,16}(?: \d{1,16}){3,9})\s*$/m.exec(text)?.[1];
  if (line === undefined) return null;
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = line
    .split(" ")
    .map(Number);
  return { busy: user + nice + system + irq + softirq + steal, idle: idle + iowait, steal };
}

export interface Baseline {
  /** Busy share of all CPUs over the whole time in %, without the target's; null where /proc/stat could not be read. */
  readonly cpu_pct: number | null;
  /** The busiest part of it. */
  readonly cpu_pct_max: number | null;
  /** Share that the host took in %. */
  readonly steal_pct: number | null;
  readonly duration_ms: number;
}

export interface BaselineOptions {
  /** Time to look in ms; 2 s by default. */
  readonly durationMs?: number;
  /** Ticks so far of a target that runs already: they are no baseline. */
  readonly targetTicks?: () => number;
  /** Ends the look early; what was seen until then is returned. */
  readonly signal?: AbortSignal;
  readonly procRoot?: string;
}

const PART_MS = 200;

interface Reading extends CpuTicks {
  /** Part of `busy` that is the target's. */
  readonly target: number;
}

function readTicks(procRoot: string, targetTicks: () => number): Reading | null {
  try {
    const ticks = parseCpuTicks(readFileSync(`${procRoot}/stat`, "utf8"));
    return ticks === null ? null : { ...ticks, target: targetTicks() };
  } catch {
    // Without /proc/stat the baseline is not measured, which the validity class says.
    return null;
  }
}

/** Busy ticks between two readings that are not the target's: its own are counted finer, and may come out as more. */
function others(from: Reading, later: Reading): number {
  return Math.max(0, later.busy - from.busy - Math.max(0, later.target - from.target));
}

function pct(part: number, from: CpuTicks, end: CpuTicks): number | null {
  const total = end.busy + end.idle - from.busy - from.idle;
  return total > 0 ? (100 * part) / total : null;
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}

/** Looks at the CPUs for some seconds; never throws. */
export async function measureBaseline(options: BaselineOptions = {}): Promise<Baseline> {
  const { durationMs = 2000, targetTicks = () => 0, signal, procRoot = "/proc" } = options;
  const began = performance.now();
  const first = readTicks(procRoot, targetTicks);
  let last = first;
  let max: number | null = null;
  for (;;) {
    const leftMs = durationMs - (performance.now() - began);
    if (leftMs <= 0 || signal?.aborted) break;
    await wait(Math.min(PART_MS, leftMs), signal);
    const now = readTicks(procRoot, targetTicks);
    const part = now && last ? pct(others(last, now), last, now) : null;
    if (part !== null) max = Math.max(max ?? 0, part);
    last = now ?? last;
  }
  return {
    cpu_pct: first && last ? pct(others(first, last), first, last) : null,
    cpu_pct_max: max,
    steal_pct: first && last ? pct(last.steal - first.steal, first, last) : null,
    duration_ms: performance.now() - began,
  };
}

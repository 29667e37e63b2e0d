/** One unit from its start to its figures, in bounded time, and nothing of it left afterwards. */
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { inNumbers } from "../schema/ledger.ts";
import { eventsOf, worstLossPct } from "../schema/loss.ts";
import {
  type ClientOfRun,
  FIGURE_NAMES,
  type FigureValues,
  type RequestOfRun,
  type RunTokens,
} from "../schema/observer-effect.ts";
import type { Arm } from "./arms.ts";
import { launchAlone, launchTraced, type RunningUnit, type UnitEnd } from "./launch.ts";
import type { Placement } from "./placement.ts";
import { sampleTree, type TreeSampler } from "./tree-sampler.ts";
import type { Unit, Workload } from "./workload.ts";

export interface TracerUse {
  readonly events_kept: number;
  readonly events_lost: number;
  readonly loss_pct: number;
  readonly capture_bytes: number;
  readonly cpu_pct: number | null;
  readonly rss_bytes: number | null;
}

export interface UnitResult {
  readonly figures: FigureValues;
  readonly tokens: RunTokens;
  /** Missing for what has no client. */
  readonly clients?: readonly ClientOfRun[] | undefined;
  /** Missing for what has no client, or no tracer. */
  readonly requests?: readonly RequestOfRun[] | undefined;
  readonly threads: number | null;
  readonly pinned: boolean;
  /** The target maps a library whose threads spin at barriers. */
  readonly openMp: boolean;
  readonly tracer: TracerUse | null;
}

export interface UnitRequest {
  readonly arm: Arm;
  readonly workload: Workload;
  readonly placement: Placement;
  /** Folder for what the unit writes; emptied by the caller. */
  readonly scratch: string;
  readonly timeoutMs: number;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/** Of a unit that has no client. */
const UNCOUNTED: RunTokens = { streamed_tokens: null, engine_tokens: null, engine_prompt_tokens: null };
const LOG_TAIL = 600;
const LOG_TAIL_BYTES = 1 << 14;
/** How long a target may take to end after it was told to; a tracer waits for it, and then for its own tools. */
const GRACE_MS = 15_000;
const TRACED_GRACE_MS = 60_000;

const ALONE = "run it alone and see why, such as: mrm-trace run -- COMMAND";

/** The end of a file, which may have any size. */
function endOf(path: string): string {
  const fd = openSync(path, "r");
  try {
    const { size } = fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, LOG_TAIL_BYTES));
    return bytes.toString("utf8", 0, readSync(fd, bytes, 0, bytes.length, size - bytes.length));
  } finally {
    closeSync(fd);
  }
}

/** The error of a unit that failed, with the last of what it printed. */
function unitError(message: string, log: string, options: { cause?: unknown } = {}): MrmTraceError {
  const text = endOf(log).trim();
  const printed = text === "" ? "it printed nothing" : `the last it printed: ${text.slice(-LOG_TAIL)}`;
  return new MrmTraceError("target", `${message}; ${printed}`, ALONE, options);
}

/** Waits for one of: the end, the time limit, the signal. @throws MrmTraceError target; what the signal carries */
async function bounded<T>(what: Promise<T>, ms: number, signal: AbortSignal, words: string): Promise<T> {
  let timer: Timer | undefined;
  let onAbort: (() => void) | undefined;
  const limits = new Promise<never>((_, reject) => {
    const hint = "give it more time with --timeout, or less work";
    timer = setTimeout(() => reject(new MrmTraceError("target", `${words} in ${ms / 1000} s`, hint)), ms);
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort);
  });
  try {
    signal.throwIfAborted();
    return await Promise.race([what, limits]);
  } finally {
    clearTimeout(timer);
    if (onAbort) signal.removeEventListener("abort", onAbort);
  }
}

/** @throws MrmTraceError target, with what the server printed where its client lost it; else what was thrown */
function lostServer(error: unknown, arm: Arm, log: string): never {
  if (error instanceof MrmTraceError) throw error;
  const why = error instanceof Error ? error.message : String(error);
  throw unitError(`${arm.name}: the client lost the server: ${why}`, log, { cause: error });
}

/** Lets the unit do its work until it has ended; a unit that is driven is told when to end. */
async function work(running: RunningUnit, unit: Unit, request: UnitRequest, log: string): Promise<UnitEnd> {
  const { arm, timeoutMs, signal } = request;
  if (unit.drive === null) return await bounded(running.ended, timeoutMs, signal, `${arm.name}: no end of the command`);
  const over = new AbortController();
  const driven = unit.drive(AbortSignal.any([signal, over.signal])).then(
    () => null,
    (error) => lostServer(error, arm, log),
  );
  const first = await bounded(
    Promise.race([driven, running.ended]),
    timeoutMs,
    signal,
    `${arm.name}: no end of the serving`,
  ).finally(() => over.abort());
  if (first !== null) {
    const how = first.signal ?? `exit code ${first.exit_code}`;
    throw unitError(`${arm.name}: the server ended with ${how}`, log);
  }
  running.stop();
  const graceMs = arm.options === null ? GRACE_MS : TRACED_GRACE_MS;
  return await bounded(running.ended, graceMs, signal, `${arm.name}: the server did not end when told to`);
}

function tracerUse(end: UnitEnd, sampler: TreeSampler): TracerUse | null {
  if (end.facts === null) return null;
  const { ledger, details } = end.facts;
  const rows = Object.entries(details.rows as Record<string, number>).map(
    ([stream, n]) => [stream, Number(n)] as const,
  );
  const sum = (counted: typeof rows): number => counted.reduce((total, [, n]) => total + n, 0);
  // The process stream runs beside every collector: it counts where it is alone.
  const events = sum(rows.filter(([stream]) => stream !== "process")) || sum(rows);
  const use = sampler.use((pid) => !end.targetPids.includes(pid), end.from_ns, end.to_ns);
  const numbers = inNumbers(ledger);
  return {
    events_kept: events,
    events_lost: eventsOf(numbers).dropped,
    loss_pct: worstLossPct(numbers),
    capture_bytes: Number(details.capture_bytes ?? 0),
    cpu_pct: use.window_ns > 0 ? (100 * use.cpu_ns) / use.window_ns : null,
    rss_bytes: use.peak_rss_bytes,
  };
}

/** What the recording says of the requests of our clients, while it is there. */
async function requestsOf({ answers }: Unit, { facts, runDir }: UnitEnd): Promise<RequestOfRun[] | undefined> {
  if (answers === undefined || facts === null || runDir === null) return undefined;
  // Loaded on use: other work has no requests.
  const { tracedRequests } = await import("./traced-requests.ts");
  return await tracedRequests(answers(), runDir, facts.run_id);
}

/** Whether a process maps an OpenMP runtime; asked while it runs. */
function mapsOpenMp(pids: Iterable<number>): boolean {
  for (const pid of pids) {
    try {
      if (/\/lib(gomp|iomp5|omp)[.-]/.test(readFileSync(`/proc/${pid}/maps`, "latin1"))) return true;
    } catch {
      // It has ended, or is not ours to look at.
    }
  }
  return false;
}

/**
 * Runs one unit.
 * @throws MrmTraceError target, where the command fails or does not end in time; what the tracer says where it cannot run
 */
export async function runUnit(request: UnitRequest): Promise<UnitResult> {
  const { arm, workload, placement, scratch } = request;
  const unit = await workload.next();
  const log = join(scratch, "output.log");
  const logFd = openSync(log, "w", 0o600);
  try {
    const launch = { unit, placement, logFd };
    await using running =
      arm.options === null
        ? launchAlone(launch)
        : launchTraced(launch, [...arm.options, "--seed", String(request.seed)], scratch);
    using sampler = sampleTree(running.pid);
    let openMp = false;
    const asked = setInterval(() => {
      openMp ||= mapsOpenMp(sampler.pids());
    }, 1000);
    const end = await work(running, unit, request, log).finally(() => clearInterval(asked));
    if (unit.drive === null && end.exit_code !== 0) {
      const how = end.signal ?? `exit code ${end.exit_code}`;
      throw unitError(`${arm.name}: the command ended with ${how}`, log);
    }
    const isTarget = (pid: number): boolean => end.facts === null || end.targetPids.includes(pid);
    const use = sampler.use(isTarget, end.from_ns, end.to_ns);
    const values = { wall_s: end.wall_ns / 1e9, peak_rss_bytes: use.peak_rss_bytes, ...unit.figures() };
    const figures = Object.fromEntries(FIGURE_NAMES.map((name) => [name, values[name as keyof typeof values] ?? null]));
    return {
      figures: figures as FigureValues,
      tokens: unit.tokens?.() ?? UNCOUNTED,
      clients: unit.clients?.(),
      requests: await requestsOf(unit, end),
      threads: use.threads,
      pinned: end.pinned,
      openMp,
      tracer: tracerUse(end, sampler),
    };
  } finally {
    closeSync(logFd);
  }
}

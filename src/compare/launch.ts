/** A unit under way: started, bound to its CPUs, and able to be ended within bounded time. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { bindProcess } from "../kernel/affinity.ts";
import { monotonicNs } from "../kernel/libc.ts";
import { areFactsComplete, type RunFacts, readFacts } from "../run-directory/facts.ts";
import { RUNTIME, RUNTIME_ENV } from "../runtime.ts";
import { HOLD, launchHeld } from "../target/held-command.ts";
import { readProc } from "../target/proc-file.ts";
import { treeOf } from "../target/tree.ts";
import type { Placement } from "./placement.ts";
import { guard } from "./watchdog.ts";
import type { Unit } from "./workload.ts";

export interface UnitEnd {
  readonly exit_code: number | null;
  readonly signal: string | null;
  /** From the moment in which the process was let go to its end, in ns: nothing of a tracer's own start and end. */
  readonly wall_ns: number;
  /** When it ran, in ns of CLOCK_MONOTONIC. */
  readonly from_ns: bigint;
  readonly to_ns: bigint;
  readonly targetPids: readonly number[];
  /** What the tracer recorded, and where until the unit is disposed of; null without one. */
  readonly facts: RunFacts | null;
  readonly runDir: string | null;
  /** True where the target ran on its own CPUs. */
  readonly pinned: boolean;
}

/** On disposal all that was started is ended, and what it left is removed. */
export interface RunningUnit extends AsyncDisposable {
  /** Root of everything that was started. */
  readonly pid: number;
  /** Asks the target to end. */
  stop(): void;
  /** @throws MrmTraceError what the tracer says where it cannot run */
  readonly ended: Promise<UnitEnd>;
}

export interface LaunchRequest {
  readonly unit: Unit;
  readonly placement: Placement;
  /** Open file that takes what the target and the tracer print. */
  readonly logFd: number;
}

/** Ends a process and all below it at once; those that are gone are no failure. */
function killTree(pid: number): void {
  for (const one of [...treeOf(pid)].reverse()) {
    try {
      process.kill(one, "SIGKILL");
    } catch {
      // It ended before we came to it.
    }
  }
}

/** How long a killed process may take to be gone: one that waits for a disk takes a moment. */
const GONE_MS = 10_000;

/** How long our own signal may be on its way. */
const OUR_SIGNAL_MS = 250;

/** Ctrl-C goes to all that we started too, and their end may be seen before our own signal: that must come first. */
async function afterOurSignal(signal: string | number | null): Promise<void> {
  if (signal === "SIGINT" || signal === "SIGTERM" || signal === "SIGHUP") await Bun.sleep(OUR_SIGNAL_MS);
}

/** Starts the command without a tracer, in the very way in which the tracer starts it. */
export function launchAlone({ unit, placement, logFd }: LaunchRequest): RunningUnit {
  const launched = launchHeld(unit.command, { env: unit.env, stdoutFd: logFd, stderrFd: logFd, ownStdin: false });
  const watchdog = guard(launched.pid);
  const pinned = placement.pinned && bindProcess(launched.pid, placement.targetCpus);
  const from_ns = monotonicNs();
  launched.release();
  let live = true;
  return {
    pid: launched.pid,
    stop: () => launched.signal("SIGTERM"),
    ended: launched.ended.then(async ({ exit_code, signal, released_ns, ended_ns }) => {
      live = false;
      await afterOurSignal(signal);
      const wall_ns = Number(ended_ns - (released_ns ?? from_ns));
      return {
        exit_code,
        signal,
        wall_ns,
        from_ns,
        to_ns: ended_ns,
        targetPids: [],
        facts: null,
        runDir: null,
        pinned,
      };
    }),
    async [Symbol.asyncDispose]() {
      if (live) killTree(launched.pid);
      watchdog.release();
      launched[Symbol.dispose]();
    },
  };
}

const CLI = new URL("../cli.ts", import.meta.url).pathname;
/** How long the tracer looks at the machine first; the target is bound to its CPUs in that time. */
const BASELINE = "500ms";
const LOOK_MS = 5;

/** The run directory below an output folder, as soon as its facts are complete; until then the recording is not over. */
function finishedRun(output: string): { runDir: string; model: string; run: string } | null {
  for (const model of existsSync(output) ? readdirSync(output) : []) {
    for (const run of readdirSync(join(output, model))) {
      const runDir = join(output, model, run);
      if (areFactsComplete(runDir)) return { runDir, model, run };
    }
  }
  return null;
}

/** Binds the target while it is held; true once it is. */
function bindHeld(tracer: number, cpus: readonly number[]): boolean {
  for (const pid of treeOf(tracer)) {
    if (pid === tracer) continue;
    const cmdline = readProc(`/proc/${pid}/cmdline`);
    if (cmdline.ok && cmdline.text.includes(HOLD)) return bindProcess(pid, cpus);
  }
  return false;
}

function failureOf(stdout: string, exitCode: number | null): MrmTraceError {
  try {
    const { error } = JSON.parse(stdout) as { error: { code: MrmTraceError["code"]; message: string; hint: string } };
    return new MrmTraceError(error.code, error.message, error.hint);
  } catch (cause) {
    const hint = "run it alone to see why: mrm-trace run --debug -- COMMAND";
    return new MrmTraceError("failure", `the tracer ended with ${exitCode} before it recorded`, hint, { cause });
  }
}

/**
 * Starts the command under `mrm-trace run`. When the recording is over the tracer is ended: what it would derive from
 * it takes CPU and tells nothing here.
 */
export function launchTraced(request: LaunchRequest, options: readonly string[], scratch: string): RunningUnit {
  const { unit, placement, logFd } = request;
  const output = mkdtempSync(join(scratch, "run-"));
  const runOptions = ["--json", "--quiet", "--baseline", BASELINE, "--output", output];
  const argv = [...RUNTIME, CLI, "run", ...runOptions, ...options, "--", ...unit.command];
  const child = Bun.spawn(argv, {
    stdio: ["ignore", "pipe", logFd],
    env: { ...process.env, ...unit.env, ...RUNTIME_ENV },
  });
  const watchdog = guard(child.pid);
  const stdout = new Response(child.stdout).text();
  let live = true;
  let pinned = false;
  const recorded = async (): Promise<UnitEnd> => {
    for (;;) {
      if (placement.pinned && !pinned) pinned = bindHeld(child.pid, placement.targetCpus);
      const ended = child.exitCode !== null || child.signalCode !== null;
      const found = finishedRun(output);
      if (found !== null) {
        const facts = readFacts(found.runDir, found.run, found.model);
        const { target, started_ns, end_ns, details } = facts;
        const root_ns = Number(details.root_wall_ns ?? end_ns - started_ns);
        child.kill("SIGKILL");
        await child.exited;
        live = false;
        return {
          exit_code: target.exit_code,
          signal: target.signal,
          wall_ns: root_ns,
          from_ns: started_ns,
          to_ns: end_ns,
          targetPids: target.pids,
          facts,
          runDir: found.runDir,
          pinned,
        };
      }
      if (ended) {
        await afterOurSignal(child.signalCode);
        throw failureOf(await stdout, child.exitCode);
      }
      await Bun.sleep(placement.pinned && !pinned ? LOOK_MS : 10 * LOOK_MS);
    }
  };
  return {
    pid: child.pid,
    stop: () => child.kill("SIGTERM"),
    ended: recorded(),
    async [Symbol.asyncDispose]() {
      if (live) killTree(child.pid);
      watchdog.release();
      // What still writes there would leave the folder behind.
      await Promise.race([child.exited, Bun.sleep(GONE_MS)]);
      rmSync(output, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

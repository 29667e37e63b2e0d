/** The debug registers: how many are free, who may hold the others, and what a trap costs. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { isSlower } from "../collect/ebpf/copies/copy-slowdown.ts";
import { type Calibration, whyBlind } from "../collect/ebpf/watch/calibrate.ts";
import { type FreeRegisters, listTracers, probeRegisters, type Tracer } from "../collect/ebpf/watch/free-registers.ts";
import { openWatchProgram } from "../collect/ebpf/watch/watch-program.ts";
import { MrmTraceError } from "../errors.ts";
import { onlineCpus } from "../kernel/cpus.ts";
import { errnoName, monotonicNs } from "../kernel/libc.ts";
import { check } from "../schema/check.ts";
import type { Check } from "../schema/examination.ts";
import { formatCount, formatNs } from "../units.ts";

/** A process with perf events open; which of them are watchpoints the kernel does not say. */
export interface EventHolder {
  readonly pid: number;
  readonly comm: string;
  readonly events: number;
}

export interface RegisterFacts {
  /** Registers that a run asks for on each CPU. */
  readonly wanted: number;
  readonly free: FreeRegisters;
  readonly tracers: readonly Tracer[];
  readonly holders: readonly EventHolder[];
}

/** x86 has 4; a run uses no more. */
const WANTED = 4;
const LONGEST_SEARCH_NS = 500_000_000n;

function perfEventsOf(pid: number): number {
  let events = 0;
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      if (readlinkSync(`/proc/${pid}/fd/${fd}`) === "anon_inode:[perf_event]") events += 1;
    } catch {
      // Closed while we looked.
    }
  }
  return events;
}

/** Processes that have perf events open now, without this one; the search ends after 0.5 s. */
export function listEventHolders(): EventHolder[] {
  const endNs = monotonicNs() + LONGEST_SEARCH_NS;
  const holders: EventHolder[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    if (monotonicNs() > endNs) break;
    try {
      const events = perfEventsOf(Number(name));
      const comm = events === 0 ? "" : readFileSync(`/proc/${name}/comm`, "latin1").trim();
      if (events > 0) holders.push({ pid: Number(name), comm, events });
    } catch {
      // It ended, or is not ours to look at.
    }
  }
  return holders;
}

/** Takes the free registers of every CPU for a moment and gives them back. */
export function registerFacts(): RegisterFacts {
  const free = probeRegisters(onlineCpus(), WANTED);
  const taken = free.count < WANTED && free.refusedBy === null;
  return { wanted: WANTED, free, tracers: taken ? listTracers() : [], holders: taken ? listEventHolders() : [] };
}

function holdersText({ tracers, holders }: RegisterFacts): string {
  const names = [
    ...tracers.map(({ comm, pid, traces }) => `${comm} (pid ${pid}) traces pid ${traces}`),
    ...holders.map(({ comm, pid, events }) => `${comm} (pid ${pid}) has ${events} perf events`),
  ];
  return names.length === 0
    ? "; nobody is seen who could hold them: a hypervisor or kernel debugger may"
    : `; ${names.join(", ")}`;
}

export function judgeRegisters(facts: RegisterFacts): Check {
  const { free, wanted } = facts;
  const name = "watch_registers";
  const data = {
    wanted,
    free: free.count,
    per_cpu: Object.fromEntries(free.perCpu),
    tracers: facts.tracers,
    holders: facts.holders,
  };
  if (free.refusedBy !== null) {
    const errno = errnoName(free.refusedBy);
    const denied = errno === "EACCES" || errno === "EPERM";
    return check(name, "fail", `the kernel gives no watchpoint of a CPU: ${errno}; no load or store can be watched`, {
      fix: denied
        ? "sudo mrm-trace run"
        : "use a kernel with CONFIG_HAVE_HW_BREAKPOINT and a hypervisor that allows debug registers",
      data,
    });
  }
  if (free.count >= wanted)
    return check(name, "ok", `${wanted} of ${wanted} are free on ${free.perCpu.size} CPUs`, { data });
  const who = holdersText(facts);
  const pid = facts.tracers[0]?.pid ?? facts.holders[0]?.pid;
  const end = pid === undefined ? "end what holds them" : `end what holds them, such as: kill ${pid}`;
  if (free.count === 0) {
    return check(name, "fail", `0 of ${wanted} are free: no load or store can be watched${who}`, { fix: end, data });
  }
  return check(name, "warn", `${free.count} of ${wanted} are free: fewer addresses are watched at a time${who}`, {
    fix: `${end}; a run takes what is free`,
    data,
  });
}

/** Times 1,000 traps and 200 retargets on a word of our own. @throws MrmTraceError where the program cannot be loaded */
export async function measureTrapCost(): Promise<Calibration> {
  using program = await openWatchProgram();
  return program.calibrate(onlineCpus());
}

/** What was measured, or why nothing was. */
export async function trapCostFacts(): Promise<Calibration | string> {
  try {
    return await measureTrapCost();
  } catch (error) {
    if (error instanceof MrmTraceError) return error.message.split("\n")[0] ?? error.message;
    throw error;
  }
}

/** @param budgetPct share of a CPU that a run may spend unless told otherwise, in % */
export function judgeTrapCost(cost: Calibration | string, budgetPct: number): Check {
  const name = "trap_cost";
  if (typeof cost === "string") {
    return check(name, "warn", `not measured: ${cost}`, { fix: "sudo mrm-trace doctor", data: { measured: false } });
  }
  const { trapNs, retargetNs, measured, whyAssumed } = cost;
  const perSecond = (budgetPct / 100) * (1e9 / trapNs);
  const { copies } = cost;
  const slower =
    !copies || !isSlower(copies) ? "" : `, copies ${copies.large.toPrecision(2)} times as slow beside a watch`;
  const figures = `${formatNs(trapNs)} a trap, ${formatNs(retargetNs)} a retarget${slower}`;
  const data = { ...cost };
  const blind = whyBlind(cost);
  if (blind !== null) {
    return check(name, "fail", blind, {
      fix: "run on the machine itself, or another virtual one: a run goes on without watches",
      data,
    });
  }
  if (!measured) {
    const summary = `${figures} are assumed: ${whyAssumed ?? "not measured"}`;
    return check(name, "warn", summary, { fix: "mrm-trace doctor, on an idle machine with free registers", data });
  }
  return check(name, "ok", `${figures}: --budget ${budgetPct} pays for ${formatCount(perSecond)} traps/s on each CPU`, {
    data,
  });
}

/** Finds the process that a name means: never ourselves, our callers or what we started. */
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import { readProc } from "./proc-file.ts";
import { statIn } from "./proc-stat.ts";
import { isOver } from "./proc-text.ts";
import { treeOf } from "./tree.ts";

export interface NamedProcess {
  readonly pid: number;
  /** With the pid it names one process for ever. */
  readonly start_ticks: bigint;
  /** Name of its program, as the kernel keeps it. */
  readonly comm: string;
}

interface Candidate extends NamedProcess {
  readonly ppid: number;
  readonly rank: number;
}

/** The command line of another monitor, or of a shell that runs one: it holds the name without being it. */
const MONITOR = /\bmonitor\b.*--name\b/s;

/** 0 where the name is the program's own, 1 where it is part of it, 2 where it stands in the command line; null else. */
function rankOf(name: string, comm: string, words: readonly string[]): number | null {
  if (comm === name || basename(words[0] ?? "") === name) return 0;
  if (MONITOR.test(words.join(" "))) return null;
  if (comm.includes(name)) return 1;
  return words.join(" ").includes(name) ? 2 : null;
}

function candidateOf(procRoot: string, pid: number, name: string): Candidate | null {
  const cmdline = readProc(`${procRoot}/${pid}/cmdline`);
  // A kernel thread and a zombie have no command line.
  if (!cmdline.ok || cmdline.text === "") return null;
  const comm = readProc(`${procRoot}/${pid}/comm`);
  const rank = rankOf(name, comm.ok ? comm.text.trimEnd() : "", cmdline.text.split("\0"));
  if (rank === null) return null;
  const stat = statIn(`${procRoot}/${pid}`);
  if (stat === null || isOver(stat)) return null;
  return {
    pid,
    rank,
    ppid: stat.ppid,
    start_ticks: stat.start_ticks,
    comm: comm.ok ? comm.text.trimEnd() : "",
  };
}

/** `self`, all that called it and all that it started. */
function family(procRoot: string, self: number): Set<number> {
  const found = treeOf(self, procRoot);
  for (let pid = self; pid > 1; ) {
    found.add(pid);
    const parent = statIn(`${procRoot}/${pid}`)?.ppid;
    if (parent === undefined || found.has(parent)) break;
    pid = parent;
  }
  return found;
}

function pidsOf(procRoot: string): number[] {
  return readdirSync(procRoot)
    .filter((name) => /^\d{1,9}$/.test(name))
    .map(Number);
}

/**
 * Processes whose name or command line holds `name`, best first: a program of that name before a part of a name before
 * a word of a command line, of these the oldest. One whose parent is meant as well is left out: it is in its tree.
 * @param self the process that asks
 */
export function namedProcesses(name: string, self = process.pid, procRoot = "/proc"): NamedProcess[] {
  const ourFamily = family(procRoot, self);
  const found = new Map<number, Candidate>();
  for (const pid of pidsOf(procRoot)) {
    const candidate = ourFamily.has(pid) ? null : candidateOf(procRoot, pid, name);
    if (candidate !== null) found.set(pid, candidate);
  }
  const best = Math.min(...[...found.values()].map(({ rank }) => rank));
  return [...found.values()]
    .filter(({ rank, ppid }) => rank === best && found.get(ppid)?.rank !== best)
    .sort((a, b) => Number(a.start_ticks - b.start_ticks) || a.pid - b.pid)
    .map(({ pid, start_ticks, comm }) => ({ pid, start_ticks, comm }));
}

/** The process of a number, whatever its name; null where there is none. */
export function processOf(pid: number, procRoot = "/proc"): NamedProcess | null {
  const stat = statIn(`${procRoot}/${pid}`);
  if (stat === null || isOver(stat)) return null;
  const comm = readProc(`${procRoot}/${pid}/comm`);
  return { pid, start_ticks: stat.start_ticks, comm: comm.ok ? comm.text.trimEnd() : "" };
}

/** The first thread of the kernel: all others that it has are its children. */
const KTHREADD = 2;

/** True for a thread of the kernel, which has no memory of its own. */
export function isKernelThread(pid: number, procRoot = "/proc"): boolean {
  const stat = statIn(`${procRoot}/${pid}`);
  const status = readProc(`${procRoot}/${pid}/status`);
  if (stat === null || !status.ok || status.text.includes("\nVmSize:")) return false;
  return pid === KTHREADD || stat.ppid === KTHREADD;
}

/** The process that a user means by a pid or a name, if it can be attached to: exactly that one, or the reason why not. */
import { readdirSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { recordedCommand } from "../run-directory/recorded-command.ts";
import { readProc } from "./proc-file.ts";
import { isOver, parseField, parseStat } from "./proc-text.ts";

export interface RunningProcess {
  readonly pid: number;
  readonly ppid: number;
  /** With the pid it names one process for ever. */
  readonly start_ticks: bigint;
  /** Its command line as the process shows it, else its name alone. */
  readonly command: readonly string[];
}

/** Where to look, and for whom. */
export interface Look {
  /** The process that asks; it and its ancestors are never meant. */
  readonly self?: number;
  readonly procRoot?: string;
}

const SHOWN_MATCHES = 10;
const SHOWN_CHARACTERS = 60;

function textOf(path: string): string {
  const read = readProc(path);
  return read.ok ? read.text : "";
}

/** What is known of a process of any kind; null where there is none. */
function lookAt(procRoot: string, pid: number) {
  const stat = parseStat(textOf(`${procRoot}/${pid}/stat`));
  if (stat === null) return null;
  const status = textOf(`${procRoot}/${pid}/status`);
  const comm = textOf(`${procRoot}/${pid}/comm`).trimEnd();
  // Names may hold any byte: a command line is text for people and for the report.
  const words = Buffer.from(textOf(`${procRoot}/${pid}/cmdline`), "latin1")
    .toString("utf8")
    .split("\0");
  const command = words.slice(0, words.findLastIndex((word) => word !== "") + 1);
  return {
    process: { pid, ppid: stat.ppid, start_ticks: stat.start_ticks, command: command.length > 0 ? command : [comm] },
    comm,
    tgid: Number(parseField(status, "Tgid") ?? pid),
    hasEnded: isOver(stat),
    hasMainThread: stat.state !== "Z",
    hasMemory: status.includes("\nVmSize:"),
  };
}

/** Secrets of others' command lines are nobody's to print, and no line that they hold is one of ours. */
function shown({ pid, command }: RunningProcess): string {
  const words = recordedCommand(command, "masked")
    .join(" ")
    .replace(/\p{Cc}/gu, "?");
  return `${pid} ${words.length > SHOWN_CHARACTERS ? `${words.slice(0, SHOWN_CHARACTERS)}...` : words}`;
}

const FIND = "find the pid with: pgrep -af NAME";

/** @throws MrmTraceError usage or target */
function processOfPid(pid: number, self: number, procRoot: string): RunningProcess {
  const refuse = (why: string, hint: string) => new MrmTraceError("target", `process ${pid} ${why}`, hint);
  const seen = lookAt(procRoot, pid);
  if (seen === null) throw new MrmTraceError("target", `there is no process ${pid}`, FIND);
  if (seen.tgid !== pid) {
    throw refuse(`is a thread of process ${seen.tgid}`, `attach to the whole process: mrm-trace attach ${seen.tgid}`);
  }
  if (pid === self || ancestors(self, procRoot).has(pid)) {
    const who =
      pid === self ? "is the tracer itself" : "is an ancestor of the tracer, which would trace itself in its tree";
    throw new MrmTraceError(
      "usage",
      `process ${pid} ${who}`,
      "attach from another session, such as a terminal of its own",
    );
  }
  if (seen.hasEnded) throw refuse(`(${seen.comm}) has ended and waits for its parent`, FIND);
  if (!seen.hasMainThread) {
    throw refuse(
      `(${seen.comm}) goes on without its main thread, so that the kernel does not show its mappings`,
      "trace it from its start: mrm-trace run -- COMMAND",
    );
  }
  if (!seen.hasMemory) {
    throw refuse(`(${seen.comm}) is a thread of the kernel: it has no memory of its own`, FIND);
  }
  return seen.process;
}

/** All that called `pid`, the init process included. */
function ancestors(pid: number, procRoot: string): Set<number> {
  const found = new Set<number>();
  for (let current = pid; ; ) {
    const parent = parseStat(textOf(`${procRoot}/${current}/stat`))?.ppid ?? 0;
    if (parent === 0 || found.has(parent)) return found;
    found.add(parent);
    current = parent;
  }
}

/** Base name of the executable; null where it is not ours to see. */
function programOf(procRoot: string, pid: number): string | null {
  try {
    return basename(readlinkSync(`${procRoot}/${pid}/exe`)).replace(/ \(deleted\)$/, "");
  } catch {
    return null;
  }
}

function matches(name: string, self: number, procRoot: string): RunningProcess[] {
  const callers = ancestors(self, procRoot);
  const found: RunningProcess[] = [];
  for (const entry of readdirSync(procRoot)) {
    const pid = /^\d{1,9}$/.test(entry) ? Number(entry) : 0;
    if (pid === 0 || pid === self || callers.has(pid)) continue;
    const seen = lookAt(procRoot, pid);
    if (seen === null || seen.hasEnded || !seen.hasMemory) continue;
    if (seen.comm === name || programOf(procRoot, pid) === name) found.push(seen.process);
  }
  return found.sort((a, b) => Number(a.start_ticks - b.start_ticks) || a.pid - b.pid);
}

/** @throws MrmTraceError usage or target */
function processOfName(name: string, self: number, procRoot: string): RunningProcess {
  const found = matches(name, self, procRoot);
  const top = found.find(({ pid }) =>
    found.every((other) => other.pid === pid || ancestors(other.pid, procRoot).has(pid)),
  );
  if (top !== undefined) return top;
  if (found.length === 0) {
    const hint = `give the whole name of a process or of its executable; ${FIND}`;
    throw new MrmTraceError("target", `no process is named "${name}"`, hint);
  }
  const more = found.length > SHOWN_MATCHES ? `, and ${found.length - SHOWN_MATCHES} more` : "";
  const list = found.slice(0, SHOWN_MATCHES).map(shown).join("; ");
  throw new MrmTraceError(
    "usage",
    `${found.length} processes are named "${name}": ${list}${more}`,
    `choose one by its pid, such as: mrm-trace attach ${found[0]?.pid}`,
  );
}

/**
 * The process of a pid, or of a name that is the whole name of a process or of its executable. Of several with one name
 * it is the one from which all the others descend.
 * @throws MrmTraceError target, where there is none or none that can be traced; usage, where several are meant or the tracer
 */
export function runningProcess(word: string, { self = process.pid, procRoot = "/proc" }: Look = {}): RunningProcess {
  if (/^\d{1,9}$/.test(word)) return processOfPid(Number(word), self, procRoot);
  return processOfName(word, self, procRoot);
}

/** True while the process has not ended, whoever has its number now. */
export function isRunning({ pid, start_ticks }: RunningProcess, procRoot = "/proc"): boolean {
  const seen = lookAt(procRoot, pid);
  return seen !== null && !seen.hasEnded && seen.process.start_ticks === start_ticks;
}

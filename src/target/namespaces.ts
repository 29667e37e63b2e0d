/** Whether this process counts pids and users as the kernel does: in a container it may not. */
import { readlinkSync } from "node:fs";
import { INITIAL_PID_NAMESPACE } from "../kernel/pid-view.ts";
import { readProc } from "./proc-file.ts";

export interface NamespaceFacts {
  /** False in a container with its own pids, by which processes are then called; null where not known. */
  readonly initial_pid_namespace: boolean | null;
  /** False as root of a user namespace; null where not known. */
  readonly initial_user_namespace: boolean | null;
  /** False where /proc is that of another pid namespace: a number in it is another process than ours; null where not known. */
  readonly own_proc: boolean | null;
}

/** Why nothing true would be traced, and what to do about it. */
export interface Refusal {
  readonly reason: string;
  readonly fix: string;
}

/** The whole range of ids onto itself. */
const INITIAL_UID_MAP = /^\s*0\s+0\s+4294967295\s*$/;

/** The target of a link; null where it cannot be read, as on a kernel without namespaces. */
function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

export function namespaceFacts(procRoot = "/proc", pid = process.pid): NamespaceFacts {
  const pids = linkOf(`${procRoot}/self/ns/pid`);
  const self = linkOf(`${procRoot}/self`);
  const map = readProc(`${procRoot}/self/uid_map`);
  return {
    initial_pid_namespace: pids === null ? null : pids === INITIAL_PID_NAMESPACE,
    initial_user_namespace: map.ok ? INITIAL_UID_MAP.test(map.text) : null,
    own_proc: self === null ? null : self === String(pid),
  };
}

/** Why the kernel would load no BPF program for us; null where namespaces do not keep it from that. */
export function refusalOfBpf({ initial_user_namespace }: NamespaceFacts): Refusal | null {
  if (initial_user_namespace !== false) return null;
  return {
    reason: "root of a user namespace only: the kernel asks for capabilities of the first",
    fix: "run on the host, or in a container that is not rootless",
  };
}

/** Why what is read of a process would be of another; null where it would not. */
export function refusalOfProc({ own_proc }: NamespaceFacts): Refusal | null {
  if (own_proc !== false) return null;
  return {
    reason: "/proc is that of another pid namespace: its numbers mean other processes",
    fix: "mount -t proc proc /proc, or unshare with --mount-proc",
  };
}

/** Doing what the user behind sudo could do, with their rights: where root would follow their links, they follow their own. */
import { MrmTraceError } from "../errors.ts";
import { addressOf, stableBytes } from "../kernel/foreign-memory.ts";
import { libc } from "../kernel/libc.ts";
import type { InvokingUser } from "./invoking-user.ts";

const SYS_SETGROUPS = process.arch === "arm64" ? 159 : 116;
/** No user: the calls answer what holds and change nothing. */
const ASK = 0xffffffff;

function groupBytes(groups: readonly number[]): Uint8Array {
  const bytes = stableBytes(groups.length * 4);
  new Uint32Array(bytes.buffer).set(groups);
  return bytes;
}

/** Groups of this thread alone: that of glibc changes those of all threads. */
function setThreadGroups(groups: readonly number[]): void {
  const bytes = addressOf(groupBytes(groups));
  if (libc.syscall(SYS_SETGROUPS, groups.length, bytes, 0, 0, 0, 0) !== 0n) throw refused("the groups of a thread");
}

/** Who touches files in this thread from now on. Leaving 0 takes the capabilities that pass over rights of files with it. */
function setFileUser(uid: number, gid: number): void {
  libc.setfsgid(gid);
  libc.setfsuid(uid);
  if (libc.setfsuid(ASK) !== uid || libc.setfsgid(ASK) !== gid) throw refused("the user of files");
}

function refused(what: string): MrmTraceError {
  return new MrmTraceError("environment", `${what} cannot be changed`, "run it as root, or without sudo as yourself");
}

/** Number of the user as whom this thread acts; null for itself. */
let acting: number | null = null;

/**
 * Does something with files as the user would: paths lead where they may go, new files are theirs. Only this thread
 * acts so, and only until `act` returns: it must wait for nothing. Without a user it is simply done, as it is by who acts as that
 * user already: the end of what is inside must not make root of what is around it.
 * @throws MrmTraceError environment where the kernel does not let us; what `act` throws
 */
export function asUser<T>(user: InvokingUser | null, act: () => T): T {
  if (user === null || acting === user.uid) return act();
  if (acting !== null) throw refused("the user as whom files are touched");
  const groups = process.getgroups?.() ?? [];
  try {
    setThreadGroups(user.groups());
    setFileUser(user.uid, user.gid);
    acting = user.uid;
    return act();
  } finally {
    acting = null;
    setFileUser(0, 0);
    setThreadGroups(groups);
  }
}

/**
 * Gives up root for good, in every thread: this process is then the user's.
 * @throws MrmTraceError environment where the kernel does not let us
 */
export function becomeUser(user: InvokingUser): void {
  const { uid, gid } = user;
  const groups = user.groups();
  const ok =
    libc.setgroups(groups.length, addressOf(groupBytes(groups))) === 0 &&
    libc.setresgid(gid, gid, gid) === 0 &&
    libc.setresuid(uid, uid, uid) === 0;
  if (!ok || process.getuid?.() !== uid) throw refused("the user of this process");
  process.env.HOME = user.home;
}

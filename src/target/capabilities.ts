/** Capabilities: what the kernel lets a process do that is not root, and what its children would take over. */
import { readProc } from "./proc-file.ts";

/** Numbers in include/uapi/linux/capability.h. */
export const CAPABILITY = {
  dac_read_search: 2,
  sys_ptrace: 19,
  sys_admin: 21,
  sys_nice: 23,
  perfmon: 38,
  bpf: 39,
  checkpoint_restore: 40,
} as const;

const GIVE = ["bpf", "perfmon", "sys_ptrace", "dac_read_search", "checkpoint_restore"]
  .map((name) => `+${name}`)
  .join(",");
/** For those who are not root: sudo, or to stay who they are with the capabilities that a recording needs, and their home, as sudo gives root's. */
export const FOR_USERS = `sudo mrm-trace run; or as yourself: sudo setpriv --reuid=$(id -u) --regid=$(id -g) --init-groups --inh-caps=${GIVE} --ambient-caps=${GIVE} env HOME="$HOME" mrm-trace run`;

/** Whether a set of capabilities has the one of this number. */
export function has(capabilities: bigint, bit: number): boolean {
  return ((capabilities >> BigInt(bit)) & 1n) === 1n;
}

/** @param set such as CapEff. @returns null where the text of /proc/PID/status does not say it */
export function capabilitiesIn(status: string, set: "CapEff" | "CapAmb"): bigint | null {
  const digits = new RegExp(`^${set}:\\s*([0-9a-f]{1,16})$`, "m").exec(status)?.[1];
  return digits === undefined ? null : BigInt(`0x${digits}`);
}

/** Those that a program would have that we start, without being root; none where they cannot be read. */
export function capabilitiesPassedOn(procRoot = "/proc"): bigint {
  const status = readProc(`${procRoot}/self/status`);
  return status.ok ? (capabilitiesIn(status.text, "CapAmb") ?? 0n) : 0n;
}

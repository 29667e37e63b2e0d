/** Capabilities: what the kernel lets a process do that is not root, and what its children would take over. */
import { readProc } from "./proc-file.ts";

/** @param set such as CapEff. @returns null where the text of /proc/PID/status does not say it */
export function capabilitiesIn(status: string, set: "CapEff" | "CapAmb"): bigint | null {
  const digits = new RegExp(`^${set}:\\s*([0-9a-f]{1,16})$`, "m").exec(status)?.[1];
  return digits === undefined ? null : BigInt(`0x${digits}`);
}

/** True where a program that we start would have capabilities of ours, without being root. */
export function areCapabilitiesPassedOn(procRoot = "/proc"): boolean {
  const status = readProc(`${procRoot}/self/status`);
  return status.ok && (capabilitiesIn(status.text, "CapAmb") ?? 0n) !== 0n;
}

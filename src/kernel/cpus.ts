/** CPUs of this machine, as sysfs lists them. */
import { readFileSync } from "node:fs";

/** Numbers of a list such as `0-3,8`; malformed parts are left out. */
export function parseCpuList(text: string): number[] {
  const cpus: number[] = [];
  for (const part of text.trim().split(",")) {
    const match = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part.trim());
    if (!match) continue;
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    for (let cpu = first; cpu <= last && cpus.length < 65536; cpu++) cpus.push(cpu);
  }
  return cpus;
}

function read(list: string): number[] {
  return parseCpuList(readFileSync(`/sys/devices/system/cpu/${list}`, "utf8"));
}

/** How many CPUs may ever exist: the size of per-CPU areas. */
export function possibleCpus(): number {
  return Math.max(...read("possible")) + 1;
}

/** CPUs that are online now. */
export function onlineCpus(): number[] {
  return read("online");
}

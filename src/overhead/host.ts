/** Facts of the machine that a figure depends on, for metadata.json. */

import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { listFolder } from "../kernel/list-folder.ts";

export interface HostFacts {
  /** Host name before the first dot as a slug. */
  readonly machine_id: string;
  readonly os: string | null;
  readonly kernel: string | null;
  readonly architecture: string;
  readonly cpu_model: string | null;
  readonly cpu_vendor: string | null;
  readonly cpus: number;
  readonly numa_nodes: number | null;
  readonly caches: readonly { readonly level: string; readonly kind: string; readonly size: string }[];
  readonly memory_total_bytes: number | null;
  readonly memory_available_bytes: number | null;
  readonly cpu_freq_scaling_max_mhz: number | null;
  readonly governor: string | null;
  readonly turbo: boolean | null;
  readonly transparent_hugepage: string | null;
  readonly lockdown: string | null;
  readonly perf_event_paranoid: number | null;
  readonly btf: boolean;
  /** none, the product's name, or `unknown hypervisor`; null where the machine does not say. */
  readonly virtualisation: string | null;
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    // Absent on this machine: the fact is null.
    return null;
  }
}

function number(text: string | null | undefined): number | null {
  return text !== null && text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The choice in brackets of a sysfs file such as `always [madvise] never`. */
function chosen(text: string | null): string | null {
  return /\[([^\]]+)\]/.exec(text ?? "")?.[1] ?? null;
}

function line(text: string, name: string): string | null {
  return new RegExp(`^${name}[ \\t]*:[ \\t]*(.+)$`, "m").exec(text)?.[1]?.trim() ?? null;
}

function cpuModel(cpuinfo: string): string | null {
  const named = line(cpuinfo, "model name");
  if (named !== null) return named;
  const [implementer, part] = [line(cpuinfo, "CPU implementer"), line(cpuinfo, "CPU part")];
  return implementer && part ? `implementer ${implementer} part ${part}` : null;
}

function memoryBytes(meminfo: string, name: string): number | null {
  const kib = number(line(meminfo, name)?.replace(/ kB$/, ""));
  return kib === null ? null : kib * 1024;
}

function turbo(root: string): boolean | null {
  const noTurbo = read(`${root}/sys/devices/system/cpu/intel_pstate/no_turbo`);
  if (noTurbo !== null) return noTurbo === "0";
  const boost = read(`${root}/sys/devices/system/cpu/cpufreq/boost`);
  return boost === null ? null : boost === "1";
}

function virtualisation(root: string, cpuinfo: string, kernel: string | null): string | null {
  if (/microsoft/i.test(kernel ?? "")) return "wsl2";
  const hypervisor = read(`${root}/sys/hypervisor/type`);
  if (hypervisor) return hypervisor;
  const isGuest = /^flags[ \t]*:.*\bhypervisor\b/m.test(cpuinfo);
  const product = [read(`${root}/sys/class/dmi/id/sys_vendor`), read(`${root}/sys/class/dmi/id/product_name`)]
    .filter((name) => name)
    .join(" ");
  if (isGuest) return product || "unknown hypervisor";
  return /^flags[ \t]*:/m.test(cpuinfo) ? "none" : null;
}

/** Text as a slug: lower case, runs of other characters than letters and digits as one dash. */
function hostSlug(name: string): string {
  const slug = (name.split(".")[0] ?? "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return slug || "unknown-host";
}

/** Reads the facts; what the machine does not say is null. Never throws. @param root prefix of /proc, /sys and /etc */
export function hostFacts(root = ""): HostFacts {
  const cpuinfo = read(`${root}/proc/cpuinfo`) ?? "";
  const meminfo = read(`${root}/proc/meminfo`) ?? "";
  const kernel = read(`${root}/proc/sys/kernel/osrelease`);
  const cpu0 = `${root}/sys/devices/system/cpu/cpu0`;
  const maxKhz = number(read(`${cpu0}/cpufreq/scaling_max_freq`));
  const osRelease = read(`${root}/etc/os-release`) ?? "";
  return {
    machine_id: hostSlug(read(`${root}/proc/sys/kernel/hostname`) ?? hostname()),
    os: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(osRelease)?.[1] ?? null,
    kernel,
    architecture: process.arch,
    cpu_model: cpuModel(cpuinfo),
    cpu_vendor: line(cpuinfo, "vendor_id"),
    cpus: [...cpuinfo.matchAll(/^processor[ \t]*:/gm)].length,
    numa_nodes: listFolder(`${root}/sys/devices/system/node`, /^node\d+$/).length || null,
    caches: listFolder(`${cpu0}/cache`, /^index\d+$/).map((index) => ({
      level: `L${read(`${cpu0}/cache/${index}/level`) ?? "?"}`,
      kind: read(`${cpu0}/cache/${index}/type`) ?? "?",
      size: read(`${cpu0}/cache/${index}/size`) ?? "?",
    })),
    memory_total_bytes: memoryBytes(meminfo, "MemTotal"),
    memory_available_bytes: memoryBytes(meminfo, "MemAvailable"),
    cpu_freq_scaling_max_mhz: maxKhz === null ? null : maxKhz / 1000,
    governor: read(`${cpu0}/cpufreq/scaling_governor`),
    turbo: turbo(root),
    transparent_hugepage: chosen(read(`${root}/sys/kernel/mm/transparent_hugepage/enabled`)),
    lockdown: chosen(read(`${root}/sys/kernel/security/lockdown`)),
    perf_event_paranoid: number(read(`${root}/proc/sys/kernel/perf_event_paranoid`)),
    btf: existsSync(`${root}/sys/kernel/btf/vmlinux`),
    virtualisation: virtualisation(root, cpuinfo, kernel),
  };
}

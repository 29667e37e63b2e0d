/** The kernel: its version, BTF, tracefs, lockdown, and what it hides. */
import { readdirSync } from "node:fs";
import { judgeBtf, judgeVersion } from "../collect/ebpf/kernel-needs.ts";
import { tracefsState } from "../kernel/tracefs.ts";
import type { HostFacts } from "../overhead/host.ts";
import { check } from "../schema/check.ts";
import type { Check } from "../schema/examination.ts";
import { readProc } from "../target/proc-file.ts";

export interface KernelFacts {
  readonly release: string | null;
  readonly architecture: string;
  readonly cpu_model: string | null;
  /** none, the product's name, or `unknown hypervisor`; null where the machine does not say. */
  readonly virtualisation: string | null;
  readonly btf: boolean;
  readonly tracefs: boolean;
  /** none, integrity or confidentiality; null where the kernel does not say. */
  readonly lockdown: string | null;
  /** Where lockdown is told. */
  readonly securityfs: "mounted" | "not mounted" | "unknown to this kernel";
  readonly kptr_restrict: number | null;
}

function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0;
  } catch {
    // Absent, or not ours to list: nothing says that it is empty.
    return false;
  }
}

function securityfs(root: string): KernelFacts["securityfs"] {
  const filesystems = readProc(`${root}/proc/filesystems`);
  if (!filesystems.ok || !/\bsecurityfs$/m.test(filesystems.text)) return "unknown to this kernel";
  return isEmpty(`${root}/sys/kernel/security`) ? "not mounted" : "mounted";
}

/** @param root prefix of /proc and /sys */
export function kernelFacts(host: HostFacts, root = ""): KernelFacts {
  const kptr = readProc(`${root}/proc/sys/kernel/kptr_restrict`);
  return {
    release: host.kernel,
    architecture: host.architecture,
    cpu_model: host.cpu_model,
    virtualisation: host.virtualisation,
    btf: host.btf,
    tracefs: tracefsState(root) !== "not mounted",
    lockdown: host.lockdown,
    securityfs: securityfs(root),
    kptr_restrict: kptr.ok && /^\d\s*$/.test(kptr.text) ? Number(kptr.text) : null,
  };
}

function judgeProcessor({ architecture, cpu_model, virtualisation }: KernelFacts): Check {
  const where =
    virtualisation === null ? "" : virtualisation === "none" ? ", bare metal" : `, virtual machine (${virtualisation})`;
  const name = `${cpu_model ?? "unknown model"}${where}`;
  const data = { architecture, cpu_model, virtualisation };
  if (architecture === "x64") return check("processor", "ok", name, { data });
  const summary = `${name}: only x86-64 code is decoded, so a watch must tell loads from stores by two registers`;
  return check("processor", "warn", summary, { fix: "trace on x86-64 for the full rate of watches", data });
}

function judgeTracefs({ tracefs }: KernelFacts): Check {
  if (tracefs) return check("tracefs", "ok", "tracefs is mounted", { data: { tracefs } });
  return check(
    "tracefs",
    "warn",
    "tracefs is not mounted: a run as root mounts it, and system calls are not tried here",
    {
      fix: "sudo mount -t tracefs tracefs /sys/kernel/tracing",
      data: { tracefs },
    },
  );
}

function judgeLockdown({ lockdown, securityfs }: KernelFacts): Check {
  const data = { lockdown };
  if (lockdown === "none") return check("lockdown", "ok", "none", { data });
  if (lockdown === "integrity") return check("lockdown", "ok", "integrity: all that is used here is allowed", { data });
  if (lockdown !== null) {
    return check("lockdown", "fail", `${lockdown}: BPF may not read kernel memory, and tracefs is closed`, {
      fix: "boot with lockdown=integrity on the kernel command line (with Secure Boot as the firmware allows)",
      data,
    });
  }
  const hidden = securityfs === "not mounted";
  const why = hidden ? "not known: securityfs is not mounted" : "this kernel has no lockdown";
  return check("lockdown", "info", `${why}; what it refuses shows below, where everything is loaded`, {
    ...(!hidden ? {} : { fix: "sudo mount -t securityfs securityfs /sys/kernel/security" }),
    data,
  });
}

function judgeKptr({ kptr_restrict }: KernelFacts): Check {
  const data = { kptr_restrict };
  if (kptr_restrict === 2) {
    return check("kptr_restrict", "info", "2: functions of the kernel stay unnamed in what perf records", {
      fix: "sudo sysctl kernel.kptr_restrict=1",
      data,
    });
  }
  const text =
    kptr_restrict === null ? "the kernel does not say" : `${kptr_restrict}: root may name functions of the kernel`;
  return check("kptr_restrict", kptr_restrict === null ? "info" : "ok", text, { data });
}

export function judgeKernel(facts: KernelFacts): Check[] {
  return [
    judgeVersion(facts),
    judgeProcessor(facts),
    judgeBtf(facts),
    judgeTracefs(facts),
    judgeLockdown(facts),
    judgeKptr(facts),
  ];
}
